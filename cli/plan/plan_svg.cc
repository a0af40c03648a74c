// Draws the plan of the fleet as SVG. Each domain is a row. In a row, jobs lie on top of each
// other, each as high as its number of GPUs.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "cli/plan/plan_parts.h"
#include "cli/text/words.h"
#include "sim/report/svg.h"

namespace subak::cli {
namespace {

using sim::kInherit;
using sim::Point;
using sim::Svg;

constexpr double kWidth = 1280, kLeft = 230, kRight = 20, kTop = 96;
constexpr double kChart = kWidth - kLeft - kRight;
constexpr double kProductHeight = 30, kGap = 5, kFoot = 18;
constexpr double kLetter = 6.4, kTextHeight = 12;  // of size 11

constexpr char kCss[] = R"css(
.ground{fill:#ffffff}
.free{fill:#f1f3f5}
.strong{fill:#1f2328}
.weak{fill:#59636e}
.grid{stroke:#9aa4ae;stroke-opacity:.45}
.runs{fill:#4e79a7;stroke:#ffffff;stroke-width:.6}
.forecast{fill:#a9c8e6;stroke:#ffffff;stroke-width:.6}
.idle{fill:#f5c34d;stroke:#ffffff;stroke-width:.6}
.closed{fill:#c7cbd1;stroke:#ffffff;stroke-width:.6}
.on-runs{fill:#ffffff}
.on-forecast,.on-idle{fill:#1f2328}
@media (prefers-color-scheme:dark){
.ground{fill:#0d1117}
.free{fill:#1b222c}
.strong{fill:#f0f6fc}
.weak{fill:#9198a1}
.grid{stroke:#6b7683}
.runs{fill:#4f86c0;stroke:#0d1117}
.forecast{fill:#27486b;stroke:#0d1117}
.idle{fill:#b8860b;stroke:#0d1117}
.closed{fill:#4a515b;stroke:#0d1117}
.on-forecast{fill:#dbe9f8}
.on-idle{fill:#0d1117}
}
)css";

std::string class_of(v1::PlanKind kind) {
  if (kind == v1::PLAN_KIND_IDLE) return "idle";
  return kind == v1::PLAN_KIND_RUNS ? "runs" : "forecast";
}

// The position of a row, and the size of its columns and GPUs.
struct Place {
  double top = 0, height = 0, column = 0;  // widths in points
  std::int64_t installed = 1;
  double x(std::size_t i) const { return kLeft + static_cast<double>(i) * column; }
  // Returns the y of this many milli-GPU.
  double y(std::int64_t milligpu) const {
    const double part = static_cast<double>(milligpu) / static_cast<double>(installed);
    return top + height * (1 - part);
  }
};

using Amounts = google::protobuf::RepeatedField<std::int64_t>;

// Draws a band on top of `base`, one polygon for each stretch with GPUs.
void band(Svg& svg, const Place& place, const std::vector<std::int64_t>& base,
          const Amounts& amounts) {
  const auto n = static_cast<std::size_t>(amounts.size());
  const auto amount = [&](std::size_t i) { return amounts.Get(static_cast<int>(i)); };
  for (std::size_t from = 0; from < n;) {
    std::size_t to = from;
    while (to < n && amount(to) > 0) ++to;
    std::vector<Point> outline;
    for (std::size_t i = from; i < to; ++i) {
      outline.push_back({place.x(i), place.y(base[i] + amount(i))});
      outline.push_back({place.x(i + 1), place.y(base[i] + amount(i))});
    }
    for (std::size_t i = to; i > from; --i) {
      outline.push_back({place.x(i), place.y(base[i - 1])});
      outline.push_back({place.x(i - 1), place.y(base[i - 1])});
    }
    if (!outline.empty()) svg.area(outline, kInherit);
    from = to + 1;
  }
}

// A level stretch of a band.
struct Stretch {
  std::size_t from = 0, to = 0;
  double middle = 0;  // its y
};

// Returns the longest stretch that is high enough for text. Length 0: there is none.
Stretch longest(const Place& place, const std::vector<std::int64_t>& base, const Amounts& amounts) {
  Stretch best;
  const auto top = [&](std::size_t i) {
    return place.y(base[i] + amounts.Get(static_cast<int>(i)));
  };
  const auto n = static_cast<std::size_t>(amounts.size());
  for (std::size_t from = 0; from < n; ++from) {
    if (place.y(base[from]) - top(from) < kTextHeight) continue;
    const double middle = (place.y(base[from]) + top(from)) / 2;
    std::size_t to = from;
    while (to < n && place.y(base[to]) >= middle + kTextHeight / 2 &&
           top(to) <= middle - kTextHeight / 2) {
      ++to;
    }
    if (to - from > best.to - best.from) best = {from, to, middle};
  }
  return best;
}

// Returns a label of at most this many letters.
std::string label_of(const v1::PlanLane& lane, std::size_t letters) {
  std::string whole = lane.jobs() > 1 ? std::to_string(lane.jobs()) + " others" : lane.job_id();
  if (lane.jobs() == 1 && !lane.job_name().empty()) whole += " " + printable(lane.job_name());
  if (lane.kind() == v1::PLAN_KIND_IDLE && display_width(plan_lane_text(lane)) <= letters) {
    return plan_lane_text(lane);
  }
  if (display_width(whole) <= letters) return whole;
  const std::size_t least = lane.job_id().size();
  if (letters >= least + 4) return cut_to(whole, letters);
  return lane.jobs() == 1 && letters >= least ? lane.job_id() : "";
}

// Draws the texts after all bands, so that no band covers a text.
struct Label {
  Point at;
  std::string text, css_class;
};

class Picture {
 public:
  explicit Picture(const v1::Plan& plan)
      : plan_(plan),
        least_(least_of(plan)),
        unit_(unit_of(plan, least_)),
        svg_(kWidth, height(), kCss) {
    for (const v1::PlanJob& job : plan.jobs()) jobs_[job.job().id()] = &job;
  }
  std::string draw() {
    head();
    std::string last;
    double y = kTop;
    for (const v1::PlanRow& row : plan_.rows()) {
      const std::string product = product_of(row);
      if (product != last) {
        text("strong", {12, y + 20}, product, 13, "start", true);
        y += kProductHeight;
      }
      last = product;
      this->row(row, y);
      y += height_of(row) + kGap;
    }
    axis(y);
    for (const Label& label : labels_) text(label.css_class, label.at, label.text, 11);
    foot(y + 30);
    return svg_.finish();
  }

 private:
  static std::int64_t of_domain(const v1::PlanRow& row) {
    return std::max<std::int64_t>(
        1, row.installed_milligpu() / std::max<std::int64_t>(1, row.domains()));
  }
  static std::int64_t least_of(const v1::Plan& plan) {
    std::int64_t least = INT64_MAX;
    for (const v1::PlanRow& row : plan.rows()) least = std::min(least, of_domain(row));
    return least;
  }
  // Returns the weight of a row's height. A larger domain has a higher row, but a domain of twice
  // the size has less than twice the height.
  static double weight_of(const v1::PlanRow& row, std::int64_t least) {
    const double times = static_cast<double>(of_domain(row)) / static_cast<double>(least);
    return std::clamp(std::sqrt(times), 1.0, 3.0);
  }
  // Returns the height of a row whose weight is 1.
  static double unit_of(const v1::Plan& plan, std::int64_t least) {
    double sum = 1;
    for (const v1::PlanRow& row : plan.rows()) sum += weight_of(row, least);
    return std::clamp(960 / sum, 20.0, 56.0);
  }
  double height_of(const v1::PlanRow& row) const { return unit_ * weight_of(row, least_); }
  static std::string product_of(const v1::PlanRow& row) {
    return printable(row.product()) + " in " + printable(row.cluster());
  }
  std::vector<const v1::PlanJob*> kept() const {
    std::vector<const v1::PlanJob*> out;
    for (const v1::PlanJob& job : plan_.jobs()) {
      if (job.kind() == v1::PLAN_KIND_IDLE) out.push_back(&job);
    }
    return out;
  }
  double height() const {
    double y = kTop + 50 + kFoot * static_cast<double>(kept().size() + 1);
    std::string last;
    for (const v1::PlanRow& row : plan_.rows()) {
      if (product_of(row) != last) y += kProductHeight;
      last = product_of(row);
      y += height_of(row) + kGap;
    }
    return y;
  }

  void text(const std::string& css_class, Point at, const std::string& what, double size,
            const char* anchor = "start", bool bold = false) {
    svg_.open(css_class);
    svg_.text(at, what, size, anchor, kInherit, bold);
    svg_.close();
  }

  void head() {
    text("strong", {12, 28}, "Plan of the fleet", 18, "start", true);
    text("weak", {12, 50}, plan_head(plan_), 12);
    const std::pair<const char*, const char*> legend[] = {
        {"runs", "held by a job, until it is predicted to end"},
        {"idle", "reserved for a job, and idle"},
        {"forecast", "held by a waiting job, by forecast"},
        {"closed", "closed"},
        {"free", "free"}};
    double x = 12;
    for (const auto& [css_class, what] : legend) {
      svg_.open(css_class);
      svg_.rect(x, 64, 14, 12, kInherit);
      svg_.close();
      text("weak", {x + 20, 74}, what, 12);
      x += 44 + kLetter * static_cast<double>(std::string_view(what).size());
    }
  }

  std::string title_of(const v1::PlanLane& lane) const {
    std::string title = plan_lane_text(lane);
    std::int64_t most = 0;
    for (const std::int64_t one : lane.milligpu()) most = std::max(most, one);
    title += ": " + gpus_text(most) + " GPUs";
    const auto it = jobs_.find(lane.job_id());
    if (it == jobs_.end() || lane.jobs() > 1) return title;
    const v1::PlanJob& job = *it->second;
    return title + " of " +
           printable(payer_text(job.job().spec().account(), job.job().spec().user())) + "\n" +
           plan_job_word(job) + ", starts " + plan_start_text(job, plan_) + ", ends " +
           plan_end_text(job, plan_);
  }

  void lane(const Place& place, const std::string& css_class, const std::string& title,
            const v1::PlanLane* of, const Amounts& amounts, std::vector<std::int64_t>& base) {
    svg_.open(css_class, title);
    band(svg_, place, base, amounts);
    svg_.close();
    const Stretch at = longest(place, base, amounts);
    const double width = place.x(at.to) - place.x(at.from) - 8;
    const auto letters = static_cast<std::size_t>(std::max(0.0, width / kLetter));
    const std::string label = of == nullptr ? "" : label_of(*of, letters);
    if (!label.empty()) {
      labels_.push_back({{place.x(at.from) + 4, at.middle + 4}, label, "on-" + css_class});
    }
    for (std::size_t i = 0; i < base.size(); ++i) base[i] += amounts.Get(static_cast<int>(i));
  }

  void row(const v1::PlanRow& row, double y) {
    const double height = height_of(row);
    const std::string gpus = gpus_text(row.installed_milligpu()) + " GPUs";
    svg_.open("strong", plan_row_name(row) + ": " + gpus + ", " + std::to_string(row.nodes()) +
                            (row.nodes() == 1 ? " node" : " nodes"));
    svg_.text({12, y + height / 2 + 4}, cut_to(plan_row_name(row), 21), 12, "start", kInherit);
    svg_.close();
    text("weak", {kLeft - 8, y + height / 2 + 4}, gpus, 11, "end");
    svg_.open("free", "free");
    svg_.rect(kLeft, y, kChart, height, kInherit);
    svg_.close();
    const int columns = row.free_milligpu_size();
    if (columns == 0 || row.installed_milligpu() <= 0) return;
    const Place place{y, height, kChart / columns, row.installed_milligpu()};
    std::vector<std::int64_t> base(static_cast<std::size_t>(columns));
    for (const v1::PlanLane& one : row.lanes()) {
      if (one.milligpu_size() != columns) continue;
      lane(place, class_of(one.kind()), title_of(one), &one, one.milligpu(), base);
    }
    if (row.closed_milligpu_size() != columns) return;
    lane(place, "closed", "closed: unhealthy, stranded, or takes no pods", nullptr,
         row.closed_milligpu(), base);
  }

  void axis(double bottom) {
    const double span = static_cast<double>(to_ms(plan_.until()) - to_ms(plan_.time()));
    for (const PlanTick& tick : plan_ticks(plan_, 13)) {
      const double x =
          kLeft + kChart * static_cast<double>(tick.at_ms - to_ms(plan_.time())) / span;
      svg_.open("grid");
      svg_.line({x, kTop}, {x, bottom}, kInherit, 1);
      svg_.close();
      text("weak", {x, kTop - 4}, tick.label, 11, "middle");
      text("weak", {x, bottom + 12}, tick.label, 11, "middle");
    }
  }

  void foot(double y) {
    for (const v1::PlanJob* const job : kept()) {
      const v1::JobSpec& spec = job->job().spec();
      text("strong", {12, y},
           job->job().id() + " " + printable(spec.name()) + " of " +
               printable(payer_text(spec.account(), spec.user())) + ": " +
               gpus_text(job->job().milligpu()) + " GPUs, " + plan_job_word(*job) + ", starts " +
               plan_start_text(*job, plan_) +
               "; idle for it now: " + gpus_text(job->idle_milligpu()),
           12);
      y += kFoot;
    }
    text("weak", {12, y},
         "The chart assumes that no new jobs come. Later submissions change the forecast.", 11);
  }

  const v1::Plan& plan_;
  std::map<std::string, const v1::PlanJob*> jobs_;
  std::int64_t least_;  // milli-GPU of the smallest domain
  double unit_;
  Svg svg_;
  std::vector<Label> labels_;
};

}  // namespace

std::string plan_svg(const v1::Plan& plan) { return Picture(plan).draw(); }

}  // namespace subak::cli
