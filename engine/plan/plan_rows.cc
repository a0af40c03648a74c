#include "engine/plan/plan_rows.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/must.h"

namespace subak::derive {
namespace {

using Group = std::vector<const PlanDomain*>;

// Groups of domains with the same key, in order of their first domains. nullopt: more than `most`
// groups.
template <class Key, class KeyOf>
std::optional<std::vector<Group>> grouped(const std::vector<PlanDomain>& domains, std::size_t most,
                                          KeyOf key_of) {
  std::map<Key, std::size_t> index;
  std::vector<Group> out;
  for (const PlanDomain& domain : domains) {
    const auto [it, is_new] = index.emplace(key_of(domain), out.size());
    if (is_new) out.emplace_back();
    if (out.size() > most) return std::nullopt;
    out[it->second].push_back(&domain);
  }
  must(out.size() <= most, "the groups are as few as asked for");
  return out;
}

struct Grouping {
  std::vector<Group> groups;
  std::string kind;  // of groups of several domains; empty: the domain's
};

Grouping group(const std::vector<PlanDomain>& domains, std::size_t most) {
  // References, so that nothing is copied.
  using Same = std::tuple<ClusterId, const std::string&, const std::string&, std::size_t, MilliGpu,
                          const std::vector<PlanPiece>&>;
  if (auto same = grouped<Same>(domains, most, [](const PlanDomain& d) {
        return Same(d.cluster, d.product, d.kind, d.nodes, d.installed, d.pieces);
      })) {
    return {*std::move(same), ""};
  }
  using Rack = std::tuple<ClusterId, std::string_view, std::string_view>;
  if (auto racks = grouped<Rack>(
          domains, most, [](const PlanDomain& d) { return Rack(d.cluster, d.product, d.rack); })) {
    return {*std::move(racks), "rack"};
  }
  using Product = std::pair<ClusterId, std::string_view>;
  const auto of_product = [](const PlanDomain& d) { return Product(d.cluster, d.product); };
  return {*grouped<Product>(domains, domains.size(), of_product), "product"};
}

// Milli-GPU x ms by column, and means of them that add up.
class Columns {
 public:
  Columns(const FleetPlan& plan, std::size_t columns)
      : from_ms_(plan.from_ms), step_ms_(plan.step_ms), columns_(columns) {}
  std::vector<std::int64_t> none() const { return std::vector<std::int64_t>(columns_); }
  void add(const PlanPiece& piece, std::vector<std::int64_t>& to) const {
    for (TimeMs at = piece.from_ms; at < piece.to_ms;) {
      const auto column = static_cast<std::size_t>((at - from_ms_) / step_ms_);
      const TimeMs next = from_ms_ + static_cast<TimeMs>(column + 1) * step_ms_;
      const TimeMs end = std::min(piece.to_ms, next);
      must(column < to.size() && end > at, "a piece is within the columns");
      to[column] += piece.milligpu * (end - at);
      at = end;
    }
  }
  // Rounds each value so that each running sum of rounded values is the rounded running sum. So all
  // values together add up exactly.
  std::vector<MilliGpu> means(const std::vector<std::int64_t>& of,
                              std::vector<std::int64_t>& sums) const {
    std::vector<MilliGpu> out(columns_);
    for (std::size_t i = 0; i < columns_; ++i) {
      const MilliGpu before = rounded(sums[i]);
      sums[i] += of[i];
      out[i] = rounded(sums[i]) - before;
    }
    must(of.size() == columns_ && sums.size() == columns_, "each column has a sum");
    return out;
  }

 private:
  MilliGpu rounded(std::int64_t sum) const { return (sum + step_ms_ / 2) / step_ms_; }

  TimeMs from_ms_;
  DurationMs step_ms_;
  std::size_t columns_;
};

std::size_t index_of(PlanKind kind) { return static_cast<std::size_t>(kind); }
constexpr std::size_t kKinds = 3;

// The part of a row that each job has, and the jobs that get a lane.
class Lanes {
 public:
  Lanes(const Group& group, std::size_t most) {
    std::array<std::map<JobId, Use>, kKinds> uses;
    for (const PlanDomain* const domain : group) {
      for (const PlanPiece& piece : domain->pieces) {
        if (!piece.kind) continue;
        Use& use = uses[index_of(*piece.kind)]
                       .try_emplace(piece.job, Use{0, piece.from_ms, 0})
                       .first->second;
        use.milligpu_ms += piece.milligpu * (piece.to_ms - piece.from_ms);
        use.from_ms = std::min(use.from_ms, piece.from_ms);
        use.to_ms = std::max(use.to_ms, piece.to_ms);
      }
    }
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      choose(static_cast<PlanKind>(kind), uses[kind], most);
    }
  }
  std::vector<PlanLane>& lanes() { return lanes_; }
  std::size_t lane_of(const PlanPiece& piece) const {
    const std::size_t kind = index_of(*piece.kind);
    const auto it = own_[kind].find(piece.job);
    const std::size_t lane = it == own_[kind].end() ? shared_[kind] : it->second;
    must(lane < lanes_.size() && lanes_[lane].kind == *piece.kind,
         "a piece has a lane of its kind");
    return lane;
  }

 private:
  struct Use {
    std::int64_t milligpu_ms = 0;
    TimeMs from_ms = 0, to_ms = 0;
  };
  void choose(PlanKind kind, const std::map<JobId, Use>& uses, std::size_t most) {
    std::vector<std::pair<JobId, Use>> ranked(uses.begin(), uses.end());
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
      return std::tuple(-a.second.milligpu_ms, a.first) <
             std::tuple(-b.second.milligpu_ms, b.first);
    });
    // A single job that is left over gets the shared lane for itself.
    const std::size_t own = ranked.size() <= most + 1 ? ranked.size() : most;
    must(own <= ranked.size(), "a lane is of a job that is there");
    // Jobs that begin earlier come first, then jobs that stay longer. So the lanes of a chart stay
    // at the same height.
    std::sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(own),
              [](const auto& a, const auto& b) {
                return std::tuple(a.second.from_ms, -a.second.to_ms, a.first) <
                       std::tuple(b.second.from_ms, -b.second.to_ms, b.first);
              });
    for (std::size_t i = 0; i < own; ++i) {
      own_[index_of(kind)][ranked[i].first] = lanes_.size();
      lanes_.push_back({kind, ranked[i].first, 1, {}});
    }
    if (own == ranked.size()) return;
    shared_[index_of(kind)] = lanes_.size();
    lanes_.push_back({kind, ranked[own].first, ranked.size() - own, {}});
  }

  std::array<std::map<JobId, std::size_t>, kKinds> own_;
  std::array<std::size_t, kKinds> shared_{};
  std::vector<PlanLane> lanes_;
};

PlanRow row_of(const Group& group, const std::string& kind, const PlanAsked& asked,
               const Columns& columns) {
  must(!group.empty(), "a row has a domain");
  const PlanDomain& first = *group.front();
  PlanRow row{
      first.cluster, first.product, first.kind, first.name, "", group.size(), 0, 0, {}, {}, {}};
  if (group.size() > 1) {
    row.last = group.back()->name;
    const bool is_rack = kind == "rack" && !first.rack.empty();
    if (!kind.empty()) row.kind = is_rack ? "rack" : "product";
    if (!kind.empty()) row.name = is_rack ? first.rack : first.product;
    if (!kind.empty()) row.last.clear();
  }
  Lanes lanes(group, asked.lanes);
  std::vector<std::vector<std::int64_t>> of_lane(lanes.lanes().size(), columns.none());
  std::vector<std::int64_t> closed = columns.none();
  for (const PlanDomain* const domain : group) {
    row.nodes += domain->nodes;
    row.installed += domain->installed;
    for (const PlanPiece& piece : domain->pieces) {
      columns.add(piece, piece.kind ? of_lane[lanes.lane_of(piece)] : closed);
    }
  }
  std::vector<std::int64_t> sums = columns.none();
  for (std::size_t i = 0; i < of_lane.size(); ++i) {
    lanes.lanes()[i].milligpu = columns.means(of_lane[i], sums);
  }
  row.closed = columns.means(closed, sums);
  row.lanes = std::move(lanes.lanes());
  row.free.assign(asked.columns, row.installed);
  const auto take = [&row](const std::vector<MilliGpu>& of) {
    for (std::size_t i = 0; i < of.size(); ++i) row.free[i] -= of[i];
  };
  for (const PlanLane& lane : row.lanes) take(lane.milligpu);
  take(row.closed);
  return row;
}

}  // namespace

void add_rows(const std::vector<PlanDomain>& domains, const PlanAsked& asked, FleetPlan& plan) {
  const Grouping grouping = group(domains, asked.rows);
  const std::size_t shown = std::min(asked.rows, grouping.groups.size());
  plan.rows_left_out = grouping.groups.size() - shown;
  must(plan.rows.empty(), "rows are added once");
  const Columns columns(plan, asked.columns);
  for (std::size_t i = 0; i < shown; ++i) {
    plan.rows.push_back(row_of(grouping.groups[i], grouping.kind, asked, columns));
  }
}

bool is_before(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number_at = [&](const std::string& text, std::size_t at) {
    std::size_t from = at;
    while (from < text.size() && text[from] == '0') ++from;
    std::size_t to = from;
    while (to < text.size() && is_digit(text[to])) ++to;
    return std::pair(std::string_view(text).substr(from, to - from), to);
  };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto [one, one_end] = number_at(a, i);
    const auto [other, other_end] = number_at(b, j);
    if (one.size() != other.size()) return one.size() < other.size();
    if (one != other) return one < other;
    i = one_end, j = other_end;
  }
  const std::size_t left_a = a.size() - i, left_b = b.size() - j;
  return left_a != left_b ? left_a < left_b : a < b;
}

}  // namespace subak::derive
