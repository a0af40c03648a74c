// Domains by time as lines of a terminal.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cli/plan_parts.h"
#include "cli/words.h"

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

// How much of a whole a column is, in eighths; whatever is not nothing is seen.
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

// All rows of one product: how much of it is free.
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

void print_product(Session& s, const ProductKey& key, const Product& product) {
  const std::string title = printable(key.second) + " in " + printable(key.first);
  s.out() << '\n' << s.paint(Colour::kBold, cut_to(title, kTableColumns)) << '\n';
  const std::string count =
      std::to_string(product.domains) + (product.domains == 1 ? " domain" : " domains");
  print_line(s,
             before_bar(count, gpus_text(product.installed),
                        is_any(product.free) ? "free" : "nothing is free"),
             bar(product.free, product.installed), Colour::kDim);
}

}  // namespace

void print_plan(Session& s, const v1::Plan& plan) {
  s.out() << plan_head(plan) << "\n\n";
  print_axis(s, plan);
  const std::map<ProductKey, Product> products = products_of(plan);
  ProductKey last;
  for (const v1::PlanRow& row : plan.rows()) {
    const ProductKey key{row.cluster(), row.product()};
    if (key != last) print_product(s, key, products.at(key));
    last = key;
    print_row(s, row);
  }
  if (plan.rows_left_out() > 0) s.out() << "and " << plan.rows_left_out() << " more rows\n";
  if (plan.rows().empty()) s.out() << "there are no GPUs\n";
}

Table plan_job_table(const v1::Plan& plan) {
  Table table({{"JOB"},
               {"NAME", Align::kLeft, Room::kElastic},
               {"ACCOUNT", Align::kLeft, Room::kElastic},
               {"GPUS", Align::kRight},
               {"WHAT"},
               {"START"},
               {"END"},
               {"IDLE", Align::kRight},
               {"NODES", Align::kLeft, Room::kElastic}});
  for (const v1::PlanJob& job : plan.jobs()) {
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
