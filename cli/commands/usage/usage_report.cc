// subak usage report: GPU-hours by account, with activity and cost. A report by account has the
// quota and the budgets beside the usage (allowances.h).
#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "cli/commands.h"
#include "cli/commands/usage/allowances.h"
#include "cli/commands/usage/usage_parts.h"
#include "cli/text/failure.h"
#include "cli/text/files.h"
#include "cli/text/words.h"
#include "core/duration.h"
#include "core/edge_limits.h"
#include "server/yaml/price_list.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::cli {
namespace {

// The days that one line adds up, in UTC. A week begins on Monday.
enum class Span { kAll, kDay, kWeek, kMonth };
struct SpanName {
  std::string_view name;
  Span span;
  v1::Period period;
};
constexpr SpanName kSpans[] = {{"day", Span::kDay, v1::PERIOD_DAY},
                               {"week", Span::kWeek, v1::PERIOD_WEEK},
                               {"month", Span::kMonth, v1::PERIOD_MONTH}};

// The other words of --by, and the fields of the request that they set.
struct GroupName {
  std::string_view name;
  void (v1::ReportUsageRequest::*set)(bool);
};
constexpr GroupName kGroups[] = {{"user", &v1::ReportUsageRequest::set_by_user},
                                 {"product", &v1::ReportUsageRequest::set_by_product},
                                 {"profile", &v1::ReportUsageRequest::set_by_profile},
                                 {"cluster", &v1::ReportUsageRequest::set_by_cluster},
                                 {"namespace", &v1::ReportUsageRequest::set_by_namespace},
                                 {"job", &v1::ReportUsageRequest::set_by_job},
                                 {"state", &v1::ReportUsageRequest::set_by_state}};

// Returns the first day of the span with this day, in seconds since 1970-01-01.
std::int64_t first_of(Span span, std::int64_t seconds) {
  using namespace std::chrono;
  const sys_days day{floor<days>(std::chrono::seconds(seconds))};
  const auto seconds_of = [](sys_days first) {
    return std::int64_t{duration_cast<std::chrono::seconds>(first.time_since_epoch()).count()};
  };
  switch (span) {
    case Span::kAll:
      return 0;
    case Span::kDay:
      return seconds;
    case Span::kWeek:
      return seconds_of(day - (weekday(day) - Monday));
    case Span::kMonth: {
      const year_month_day parts(day);
      return seconds_of(parts.year() / parts.month() / 1);
    }
  }
  return 0;
}

// What the user asks for. The request may ask for more groups, since prices depend on them.
struct ReportCommand {
  UsageWindow window;
  std::vector<std::string> by;
  std::string price_file;
};

// Reads --by into the request. Returns the days of one line.
Span put_groups(const std::vector<std::string>& by, v1::ReportUsageRequest& request) {
  Span span = Span::kAll;
  for (const std::string& group : by) {
    const auto is_it = [&](const auto& known) { return known.name == group; };
    const auto* const days = std::find_if(std::begin(kSpans), std::end(kSpans), is_it);
    const auto* const other = std::find_if(std::begin(kGroups), std::end(kGroups), is_it);
    if (days != std::end(kSpans)) {
      if (span != Span::kAll)
        throw usage_failure("--by: want only one of day, week and month",
                            "run the command once for each");
      span = days->span;
      request.set_period(days->period);
    } else if (other != std::end(kGroups)) {
      (request.*other->set)(true);
    } else if (group != "account") {
      throw usage_failure("--by: was \"" + group +
                              "\", want account, user, product, profile, cluster, namespace, job, "
                              "state, day, week or month",
                          "several with commas: --by user,day");
    }
  }
  return span;
}

// The figures of one line.
struct Sum {
  GpuTime booked, used, held, platform, running, idle, low, active, unknown;
  double energy_kwh = 0;
  double cost = 0, idle_cost = 0, energy_cost = 0;

  Sum& operator+=(const Sum& o) {
    booked += o.booked;
    used += o.used;
    held += o.held;
    platform += o.platform;
    running += o.running;
    idle += o.idle;
    low += o.low;
    active += o.active;
    unknown += o.unknown;
    energy_kwh += o.energy_kwh;
    cost += o.cost;
    idle_cost += o.idle_cost;
    energy_cost += o.energy_cost;
    return *this;
  }
};

Sum figures_of(const v1::UsageRow& row) {
  constexpr double kJoulesPerKwh = 3.6e6;
  Sum sum;
  sum.booked = get(row.amount());
  sum.used = get(row.used());
  sum.held = get(row.held());
  sum.platform = get(row.platform());
  sum.running = get(row.running());
  sum.idle = get(row.activity().idle());
  sum.low = get(row.activity().low());
  sum.active = get(row.activity().active());
  sum.unknown = get(row.activity().unknown());
  sum.energy_kwh = static_cast<double>(row.activity().energy_joules()) / kJoulesPerKwh;
  return sum;
}

// Adds up the cost of rows by the prices of their products and profiles.
class Pricing {
 public:
  explicit Pricing(PriceList list) : list_(std::move(list)) {}

  // Throws Failure (usage) if the list has no price for the row.
  void add_cost(const v1::UsageRow& row, Sum& sum) const {
    const std::int64_t day = row.day().seconds() * kSecondMs / kDayMs;
    if (const auto price = list_.per_hour(row.product(), day, row.profile())) {
      sum.cost = (sum.booked + sum.running).gpu_hours() * *price;
      sum.idle_cost = sum.idle.gpu_hours() * *price;
    } else if (!(sum.booked + sum.running).is_zero()) {
      throw no_price(row.product(), row.profile(), utc_day(day));
    }
    const auto energy = list_.per_kwh(day);
    sum.energy_cost = energy ? sum.energy_kwh * *energy : 0;
  }
  // True if slices of some MIG profile have a price of their own.
  bool by_profile() const {
    return std::any_of(list_.gpus.begin(), list_.gpus.end(),
                       [](const PriceList::Gpu& gpu) { return !gpu.profile.empty(); });
  }
  const std::string& currency() const { return list_.currency; }

 private:
  const PriceList list_;
};

// The columns that identify a row, as the user asked.
struct LineKey {
  std::string account, user, product, profile, cluster, ns, job;
  // The first day of the span, in seconds since 1970-01-01.
  std::int64_t day = 0;
  int state = 0;
  friend auto operator<=>(const LineKey&, const LineKey&) = default;
};

// The lines of a report, and their total.
struct Lines {
  std::map<LineKey, Sum> lines;
  Sum total;
};

// `roll_up`: adds up each account with all accounts and users below it. A user who has a row counts
// in the account's row too. `pricing`: nullptr: no prices.
Lines lines_of(const v1::ReportUsageRequest& asked, Span span,
               const v1::ReportUsageResponse& answer, const Pricing* pricing, bool roll_up) {
  Lines out;
  for (const v1::UsageRow& row : answer.rows()) {
    Sum sum = figures_of(row);
    if (pricing != nullptr) pricing->add_cost(row, sum);
    out.total += sum;
    const auto add = [&](const std::string& account, const std::string& user) {
      out.lines[{account, user, asked.by_product() ? row.product() : "",
                 asked.by_profile() ? row.profile() : "", row.cluster(), row.namespace_(),
                 row.job_id(), first_of(span, row.day().seconds()), row.state()}] += sum;
    };
    if (!roll_up) {
      add(row.account(), row.user());
      continue;
    }
    if (!row.user().empty()) add(row.account(), row.user());
    for (std::string path = row.account(); !path.empty();) {
      add(path, "");
      const std::size_t cut = path.rfind('.');
      path.resize(cut == std::string::npos ? 0 : cut);
    }
  }
  return out;
}

// Adds lines for accounts that used nothing, but have a quota or a budget. `with_root`: the root is
// a line too, since there is no total.
void add_promised(const Allowances& allowances, Lines& lines, bool with_root) {
  for (const auto& [key, allowance] : allowances.all()) {
    LineKey line;
    std::tie(line.account, line.day) = key;
    if (with_root || !line.account.empty()) lines.lines.try_emplace(line);
  }
}

std::string day_text(std::int64_t seconds) {
  return seconds == 0 ? "" : utc_day(seconds * kSecondMs / kDayMs);
}

std::vector<Column> columns_of(const v1::ReportUsageRequest& asked, Span span, bool observed,
                               const Pricing* pricing, const Allowances& allowances, bool csv) {
  std::vector<Column> columns{{"ACCOUNT", Align::kLeft, Room::kElastic}};
  const auto add_text = [&](bool asked_for, const char* name) {
    if (asked_for) columns.push_back({name, Align::kLeft, Room::kElastic});
  };
  add_text(asked.by_user(), "USER");
  add_text(asked.by_product(), "PRODUCT");
  add_text(asked.by_profile(), "PROFILE");
  add_text(asked.by_cluster(), "CLUSTER");
  add_text(asked.by_namespace(), "NAMESPACE");
  add_text(asked.by_job(), "JOB");
  if (span == Span::kDay) columns.push_back({"DAY (UTC)"});
  if (span == Span::kWeek) columns.push_back({"WEEK FROM"});
  if (span == Span::kMonth) columns.push_back({"MONTH"});
  if (asked.by_state()) columns.push_back({"STATE"});
  const Room exact = csv ? Room::kUsual : Room::kWide;
  const auto add = [&](const char* name, Room room) {
    columns.push_back({name, Align::kRight, room});
  };
  const Room parts = pricing == nullptr && !observed ? Room::kUsual : exact;
  add("GPU HOURS", Room::kUsual);
  add("USED", exact);
  add("HELD", parts);
  add("PLATFORM", parts);
  add("% OF ALL", pricing == nullptr ? Room::kUsual : exact);
  add("RUNNING NOW", Room::kUsual);
  const bool is_crowded = pricing != nullptr && observed;
  allowances.add_columns(columns, csv, {is_crowded ? exact : Room::kUsual, exact});
  if (observed) {
    add("IDLE HOURS", Room::kUsual);
    add("1-25 % HOURS", exact);
    add("ABOVE 25 %", exact);
    add("UNKNOWN", Room::kUsual);
    add("ENERGY KWH", exact);
  }
  if (pricing != nullptr) {
    add("COST", Room::kUsual);
    if (observed) add("IDLE COST", Room::kUsual);
    if (observed) add("ENERGY COST", Room::kUsual);
  }
  add("GPU SECONDS", exact);
  add("RUNNING SECONDS", exact);
  return columns;
}

Table report_table(const v1::ReportUsageRequest& asked, Span span,
                   const v1::ReportUsageResponse& answer, const Pricing* pricing,
                   const Allowances& allowances, bool csv) {
  const bool observed = answer.has_activity();
  Table table(columns_of(asked, span, observed, pricing, allowances, csv));
  const double total = get(answer.total()).gpu_hours();
  const auto add = [&](const LineKey& key, const Sum& sum, const std::string& account,
                       const Allowance& allowance) {
    std::vector<Cell> cells{account};
    if (asked.by_user()) cells.emplace_back(key.user);
    if (asked.by_product()) cells.emplace_back(key.product);
    if (asked.by_profile()) cells.emplace_back(key.profile);
    if (asked.by_cluster()) cells.emplace_back(key.cluster);
    if (asked.by_namespace()) cells.emplace_back(key.ns);
    if (asked.by_job()) cells.emplace_back(key.job);
    if (span == Span::kMonth) cells.emplace_back(day_text(key.day).substr(0, 7));
    if (span == Span::kDay || span == Span::kWeek) cells.emplace_back(day_text(key.day));
    if (asked.by_state()) {
      cells.emplace_back(key.state == 0 ? "" : word(v1::UsageState(key.state)));
    }
    const double part = sum.booked.gpu_hours() / total * 100;
    for (const GpuTime time : {sum.booked, sum.used, sum.held, sum.platform}) {
      cells.emplace_back(hours_text(time));
    }
    cells.emplace_back(total == 0 ? "-" : fixed_text(part, 1));
    cells.emplace_back(hours_text(sum.running));
    allowances.add_cells(cells, allowance, csv);
    if (observed) {
      for (const GpuTime time : {sum.idle, sum.low, sum.active, sum.unknown}) {
        cells.emplace_back(hours_text(time));
      }
      cells.emplace_back(fixed_text(sum.energy_kwh, 3));
    }
    if (pricing != nullptr) {
      cells.emplace_back(fixed_text(sum.cost, 2));
      if (observed) cells.emplace_back(fixed_text(sum.idle_cost, 2));
      if (observed) cells.emplace_back(fixed_text(sum.energy_cost, 2));
    }
    cells.emplace_back(seconds_text(put(sum.booked)));
    cells.emplace_back(seconds_text(put(sum.running)));
    table.row(std::move(cells));
  };
  Lines all = lines_of(asked, span, answer, pricing, !csv);
  add_promised(allowances, all, csv);
  for (const auto& [key, sum] : all.lines) {
    const std::string& path = key.account;
    const auto depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), '.'));
    const std::string name = path.empty() ? "(root)" : path;
    add(key, sum, csv ? name : std::string(depth, ' ') + path, allowances.of({path, key.day}));
  }
  if (!csv) add({}, all.total, "TOTAL", allowances.total(asked.account()));
  return table;
}

// Prints which account, time and days the figures cover.
void print_heading(Session& s, const UsageWindow& window, const v1::ReportUsageRequest& asked,
                   const v1::ReportUsageResponse& answer) {
  s.out() << "GPU-hours in the ledger";
  if (!window.account.empty()) s.out() << " paid by " << printable(window.account) << " and below";
  s.out() << "\nfrom "
          << (asked.has_from() ? time_text(asked.from()) : std::string("the beginning")) << " to "
          << (asked.has_to() ? time_text(asked.to()) : "now (" + time_text(answer.time()) + ")");
  if (answer.has_first_day()) {
    s.out() << "; first use on " << day_text(answer.first_day().seconds());
  } else if (answer.rows().empty()) {
    s.out() << "; nothing was used";
  }
  s.out()
      << "\nThe ledger up to entry " << answer.last_sequence()
      << ".\nDays are UTC days. Each account includes the accounts below it. The column RUNNING "
         "NOW "
         "has\nmore GPU-hours: usage that gets its entry when the pod ends, or when the UTC day is "
         "closed.\nHELD is the part of GPU HOURS before the pods were bound. PLATFORM is usage of "
         "the account's\njobs that the platform pays; only the row (platform) has it in GPU "
         "HOURS.\n";
  if (!answer.allowances().empty()) {
    s.out() << "QUOTA HOURS is the account's quota x time. BUDGET LEFT is of the budget with the "
               "smallest part\nleft, in its present period; subak budget list shows all.\n";
  }
  if (asked.by_job()) {
    s.out() << "These are the sums of " << answer.rows_added() << " entries of the ledger.\n";
  }
  if (answer.has_activity()) {
    s.out()
        << "IDLE HOURS were held with activity below 1 %. UNKNOWN hours were held without "
           "metrics.\n"
           "Both are parts of GPU HOURS and RUNNING NOW. They are observations, and no charge.\n";
  }
  s.out() << '\n';
}

// Says which prices the figures of cost have.
void print_prices(Session& s, const Pricing& pricing) {
  s.out() << "\nCosts are in " << printable(pricing.currency())
          << ", of GPU HOURS and RUNNING NOW together.\n";
}

// True if the report has no other groups than accounts and periods.
bool is_by_account(const v1::ReportUsageRequest& asked) {
  return !asked.by_user() && !asked.by_product() && !asked.by_profile() && !asked.by_cluster() &&
         !asked.by_namespace() && !asked.by_job() && !asked.by_state();
}

int report(Session& s, const ReportCommand& o) {
  std::optional<Pricing> pricing;
  if (auto prices = read_prices(o.price_file)) pricing.emplace(*std::move(prices));
  const bool people = s.form() == Form::kTable || s.form() == Form::kWide;
  if (pricing && !people && !s.is_csv()) {
    throw usage_failure("--prices: json and yaml are the service's answer, which has no prices",
                        "use --output table, wide or csv");
  }
  v1::ReportUsageRequest asked;
  put_window(o.window, asked);
  const Span span = put_groups(o.by, asked);
  v1::ReportUsageRequest request = asked;
  if (pricing) {
    request.set_by_product(true);
    // Activity is not known by profile, so a report by profile has none.
    if (pricing->by_profile()) request.set_by_profile(true);
    request.set_period(v1::PERIOD_DAY);
  }
  // Without prices, one answer has both. With prices, usage is also by product and by day.
  const bool by_account = is_by_account(asked);
  if (by_account && !pricing) request.set_with_allowances(true);
  auto answer = s.call<v1::ReportUsageResponse>("UsageService/ReportUsage", request);
  if (by_account && pricing) {
    asked.set_with_allowances(true);
    auto promised = s.call<v1::ReportUsageResponse>("UsageService/ReportUsage", asked);
    answer.mutable_allowances()->Swap(promised.mutable_allowances());
  }
  if (people) print_heading(s, o.window, asked, answer);
  s.show(answer, [&] {
    const Allowances allowances = by_account ? Allowances(answer) : Allowances();
    return report_table(asked, span, answer, pricing ? &*pricing : nullptr, allowances, s.is_csv());
  });
  if (people && pricing) print_prices(s, *pricing);
  return 0;
}

}  // namespace

Failure no_price(const std::string& product, const std::string& profile, const std::string& day) {
  const std::string name = product.empty() ? "usage without a product" : printable(product);
  return usage_failure("--prices: " + name + (profile.empty() ? "" : " " + printable(profile)) +
                           " has no price on " + day + ", on which it was used",
                       "add a price that begins on or before that day");
}

std::optional<PriceList> read_prices(const std::string& file) {
  if (file.empty()) return std::nullopt;
  Result<PriceList> list = read_price_list(read_input(file, limits::kMaxWrittenFileBytes), file);
  if (!list) {
    throw usage_failure(
        "--prices: " + list.error().message(),
        "docs/operate-billing.md, \"Idle GPUs and cost\", shows the form of the file");
  }
  return std::move(list).value();
}

void add_usage_report(Command usage) {
  auto o = std::make_shared<ReportCommand>();
  Command c = usage.add("report",
                        "show GPU-hours by account, beside quota and budgets; usage that has not "
                        "ended is in a column "
                        "of its own");
  add_window(c, o->window);
  c.list_option(
      "--by", o->by,
      "one line for each account, user, product, profile, cluster, namespace, job, state, "
      "day, week or month",
      "A,B");
  c.option("--prices", o->price_file,
           "price list of GPUs and energy (YAML): adds columns with the cost", "FILE");
  c.run([o](Session& s) { return report(s, *o); });
}

}  // namespace subak::cli
