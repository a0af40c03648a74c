// Prints the plan of the fleet as lines of a terminal.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cli/plan/plan_parts.h"
#include "cli/text/words.h"

namespace subak::cli {
namespace {

constexpr std::size_t kName = 16, kGpus = 6, kWhat = 24;
constexpr std::size_t kBefore = kName + 1 + kGpus + 2 + kWhat + 1;
static_assert(kBefore + kPlanBarColumns == kTableColumns);

std::string padded(const std::string& text, std::size_t width) {
  const std::string cell = cut_to(text, width);
  return cell + std::string(width - display_width(cell), ' ');
}

std::string before_bar(const std::string& name, const std::string& gpus, const std::string& what) {
  const std::size_t blanks = kGpus - std::min(kGpus, gpus.size());
  return padded(name, kName) + " " + std::string(blanks, ' ') + gpus + "  " + padded(what, kWhat) +
         " ";
}

// Draws the used part of each column, in eighths. Any use shows at least one eighth.
std::string bar(const google::protobuf::RepeatedField<std::int64_t>& milligpu, std::int64_t whole) {
  static const char* const kEighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const std::int64_t one : milligpu) {
    const std::int64_t eighths = whole <= 0 ? 0 : (one * 16 + whole) / (2 * whole);
    text += kEighths[one <= 0 ? 0 : std::clamp<std::int64_t>(eighths, 1, 8)];
  }
  const std::size_t last = text.find_last_not_of(' ');
  return last == std::string::npos ? "" : text.substr(0, last + 1);
}

void print_axis(Session& s, const v1::Plan& plan) {
  std::string line(kBefore, ' ');
  std::size_t width = kBefore;
  const DurationMs step = std::max<DurationMs>(1, to_ms(plan.step()));
  for (const PlanTick& tick : plan_ticks(plan, kPlanBarColumns / 8)) {
    const auto column = static_cast<std::size_t>((tick.at_ms - to_ms(plan.time())) / step);
    const std::string label = "|" + tick.label;
    if (kBefore + column < width || kBefore + column + label.size() > kTableColumns) continue;
    line += std::string(kBefore + column - width, ' ') + label;
    width = kBefore + column + label.size();
  }
  const std::string head = before_bar("DOMAIN", "GPUS", "WHAT");
  s.out() << head << line.substr(kBefore) << '\n';
}

void print_line(Session& s, const std::string& before, const std::string& bar,
                std::optional<Colour> colour) {
  std::string line = before;
  if (bar.empty()) line.erase(line.find_last_not_of(' ') + 1);
  s.out() << line << (bar.empty() || !colour ? bar : s.paint(*colour, bar)) << '\n';
}

bool is_any(const google::protobuf::RepeatedField<std::int64_t>& milligpu) {
  return std::any_of(milligpu.begin(), milligpu.end(), [](std::int64_t one) { return one > 0; });
}

Colour colour_of(v1::PlanKind kind) {
  if (kind == v1::PLAN_KIND_IDLE) return Colour::kYellow;
  return kind == v1::PLAN_KIND_RUNS ? Colour::kGreen : Colour::kBlue;
}

// Draws the held GPUs of each column. The colour is that of the state that holds the most GPUs
// there.
std::string held_bar(const Session& s, const v1::PlanRow& row) {
  google::protobuf::RepeatedField<std::int64_t> held;
  held.Resize(row.free_milligpu_size(), 0);
  std::vector<std::pair<std::int64_t, v1::PlanKind>> most(static_cast<std::size_t>(held.size()));
  for (const v1::PlanLane& lane : row.lanes()) {
    if (lane.kind() == v1::PLAN_KIND_IDLE) continue;
    for (int i = 0; i < std::min(held.size(), lane.milligpu_size()); ++i) {
      held.Set(i, held.Get(i) + lane.milligpu(i));
      auto& first = most[static_cast<std::size_t>(i)];
      if (lane.milligpu(i) > first.first) first = {lane.milligpu(i), lane.kind()};
    }
  }
  std::string text;
  for (int from = 0, to = 0; from < held.size(); from = to) {
    const v1::PlanKind kind = most[static_cast<std::size_t>(from)].second;
    google::protobuf::RepeatedField<std::int64_t> part;
    for (; to < held.size() && most[static_cast<std::size_t>(to)].second == kind; ++to) {
      part.Add(held.Get(to));
    }
    const std::string piece = bar(part, row.installed_milligpu());
    text += piece.empty() ? piece : s.paint(colour_of(kind), piece);
    if (to < held.size())
      text += std::string(static_cast<std::size_t>(part.size()) - display_width(piece), ' ');
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// Prints the whole row in one line.
void print_in_one(Session& s, const v1::PlanRow& row) {
  std::string what = plan_lanes_text(row);
  if (is_any(row.closed_milligpu())) what += what.empty() ? "closed" : ", part closed";
  if (what.empty()) what = "free";
  print_line(s, before_bar(plan_row_name(row), gpus_text(row.installed_milligpu()), what),
             held_bar(s, row), std::nullopt);
}

void print_row(Session& s, const v1::PlanRow& row) {
  std::string name = plan_row_name(row), gpus = gpus_text(row.installed_milligpu());
  const auto line = [&](const std::string& what, const auto& milligpu,
                        std::optional<Colour> colour) {
    print_line(s, before_bar(std::exchange(name, ""), std::exchange(gpus, ""), what),
               bar(milligpu, row.installed_milligpu()), colour);
  };
  for (const v1::PlanLane& lane : row.lanes()) {
    line(plan_lane_text(lane), lane.milligpu(), colour_of(lane.kind()));
  }
  if (is_any(row.closed_milligpu())) line("closed", row.closed_milligpu(), Colour::kRed);
  if (!name.empty()) line("free", row.free_milligpu(), Colour::kDim);
}

// The sums of all rows of one product: its GPUs, domains and free GPUs.
struct Product {
  std::int64_t installed = 0, domains = 0;
  google::protobuf::RepeatedField<std::int64_t> free;
};
using ProductKey = std::pair<std::string, std::string>;

std::map<ProductKey, Product> products_of(const v1::Plan& plan) {
  std::map<ProductKey, Product> out;
  for (const v1::PlanRow& row : plan.rows()) {
    Product& product = out[{row.cluster(), row.product()}];
    product.installed += row.installed_milligpu();
    product.domains += row.domains();
    product.free.Resize(row.free_milligpu_size(), 0);
    for (int i = 0; i < row.free_milligpu_size(); ++i) {
      product.free.Set(i, product.free.Get(i) + row.free_milligpu(i));
    }
  }
  return out;
}

// Returns the number of sums to print. A product with one domain gets no sum, since it would repeat
// the row.
std::size_t sums_of(const std::map<ProductKey, Product>& products) {
  return static_cast<std::size_t>(std::count_if(
      products.begin(), products.end(), [](const auto& one) { return one.second.domains > 1; }));
}

void print_product(Session& s, const ProductKey& key, const Product& product, bool with_sum) {
  const std::string title = printable(key.second) + " in " + printable(key.first);
  s.out() << '\n' << s.paint(Colour::kBold, cut_to(title, kTableColumns)) << '\n';
  if (!with_sum) return;
  const std::string count = std::to_string(product.domains) + " domains";
  print_line(s,
             before_bar(count, gpus_text(product.installed),
                        is_any(product.free) ? "free" : "nothing is free"),
             bar(product.free, product.installed), Colour::kDim);
}

}  // namespace

std::size_t plan_lines(const v1::Plan& plan) {
  const std::map<ProductKey, Product> products = products_of(plan);
  std::size_t lines = sums_of(products);
  for (const v1::PlanRow& row : plan.rows()) {
    const int own = row.lanes_size() + (is_any(row.closed_milligpu()) ? 1 : 0);
    lines += static_cast<std::size_t>(std::max(1, own));
  }
  return lines;
}

void print_plan(Session& s, const v1::Plan& plan, std::size_t rows, bool lanes) {
  s.out() << cut_to(plan_head(plan), kTableColumns) << "\n\n";
  print_axis(s, plan);
  const std::map<ProductKey, Product> products = products_of(plan);
  const std::size_t lines = static_cast<std::size_t>(plan.rows_size()) + sums_of(products);
  const bool with_sums = lanes || lines <= rows;
  ProductKey last;
  for (const v1::PlanRow& row : plan.rows()) {
    const ProductKey key{row.cluster(), row.product()};
    const Product& product = products.at(key);
    if (key != last) print_product(s, key, product, with_sums && product.domains > 1);
    last = key;
    lanes ? print_row(s, row) : print_in_one(s, row);
  }
  if (plan.rows_left_out() > 0) {
    s.out() << "and " << plan.rows_left_out() << " more rows: --rows N shows more\n";
  }
  if (plan.rows().empty()) s.out() << "there are no GPUs\n";
}

std::vector<int> plan_jobs_shown(const v1::Plan& plan, std::size_t most) {
  std::map<v1::PlanKind, std::vector<int>> kinds;
  for (int i = 0; i < plan.jobs_size(); ++i) kinds[plan.jobs(i).kind()].push_back(i);
  std::vector<int> shown;
  for (std::size_t n = 0; shown.size() < most; ++n) {
    const std::size_t before = shown.size();
    for (const auto& [kind, jobs] : kinds) {
      if (n < jobs.size() && shown.size() < most) shown.push_back(jobs[n]);
    }
    if (shown.size() == before) break;
  }
  std::sort(shown.begin(), shown.end());
  return shown;
}

Table plan_job_table(const v1::Plan& plan, const std::vector<int>& shown) {
  Table table({{"JOB"},
               {"NAME", Align::kLeft, Room::kElastic},
               {"ACCOUNT", Align::kLeft, Room::kElastic},
               {"GPUS", Align::kRight},
               {"WHAT"},
               {"START"},
               {"END"},
               {"IDLE", Align::kRight},
               {"NODES", Align::kLeft, Room::kElastic}});
  for (const int i : shown) {
    const v1::PlanJob& job = plan.jobs(i);
    const v1::JobSpec& spec = job.job().spec();
    std::string nodes = job.nodes_size() == 0 ? "-" : job.nodes(0);
    if (job.node_count() > 1) nodes += " +" + std::to_string(job.node_count() - 1);
    table.row(
        {job.job().id(), spec.name(), payer_text(spec.account(), spec.user()),
         gpus_text(job.job().milligpu()), plan_job_word(job),
         Cell(plan_start_text(job, plan), job.has_start() ? exact_time_text(job.start()) : ""),
         Cell(plan_end_text(job, plan), job.has_end() ? exact_time_text(job.end()) : ""),
         job.idle_milligpu() > 0 ? gpus_text(job.idle_milligpu()) : "", nodes});
  }
  return table;
}

}  // namespace subak::cli
