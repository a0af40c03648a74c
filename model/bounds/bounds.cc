#include "model/bounds/bounds.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <variant>

#include "core/limits.h"
#include "core/stored_size.h"
#include "model/bounds/field_bounds.h"

namespace subak::bounds {
namespace {

constexpr bool before(const Row& a, const Row& b) {
  return a.field < b.field || (a.field == b.field && a.within < b.within);
}

template <class T>
constexpr bool kIsNumber = std::integral<T> && !std::same_as<T, bool>;

constexpr std::size_t number_wishes() {
  std::size_t count = 0;
  each_wish([&]<class T>(const Wish<T>&) { count += kIsNumber<T> ? 1 : 0; });
  return count;
}

constexpr auto kTable = [] {  // sorted by field, then by `within`
  std::array<Row, kOwnRows.size() + number_wishes()> rows{};
  auto* end = std::copy(kOwnRows.begin(), kOwnRows.end(), rows.begin());
  each_wish([&]<class T>(const Wish<T>& wish) {
    if constexpr (kIsNumber<T>) *end++ = Row{wish.field, "", 0, wish.most};
  });
  std::sort(rows.begin(), rows.end(), before);
  return rows;
}();

// A value that every row allows needs no look-up. Nearly all values are in this range.
constexpr std::int64_t kAny =
    std::min_element(kTable.begin(), kTable.end(), [](auto& a, auto& b) { return a.most < b.most; })
        -> most;
static_assert(kAny >= 64 && std::all_of(kTable.begin(), kTable.end(),
                                        [](const Row& row) { return row.least <= 0; }));
constexpr bool fits_any(std::int64_t value) { return value >= 0 && value <= kAny; }

// Returns the bound of a field. A test checks that each field is in the table.
const Row& bound_of(std::string_view field, std::string_view within) {
  static constexpr Row kUnbounded{"", "", kLeast, kMost};
  const Row* const row = row_of(field, within);
  return row != nullptr ? *row : kUnbounded;
}

Error invalid(std::string field, std::string got, std::string want) {
  return {ErrorCode::kInvalid, std::move(field), std::move(got), std::move(want)};
}

std::string at_most(std::int64_t most, std::string_view unit) {
  return "want at most " + std::to_string(most) + std::string(unit);
}

template <class T>
std::optional<Error> fields_of(const T& record, std::string_view within = "");

// Visits fields up to the first one beyond its bound, and builds its path on the way back.
class Visitor {
 public:
  explicit Visitor(std::string_view within = "") : within_(within) {}

  template <class T>
  void operator()(int, std::string_view field, const T& value) {
    if (error) return;
    if constexpr (std::same_as<T, std::string>) {
      if (!fits_any(size_of(value))) text(field, value, bound_of(field, within_).most);
    } else if constexpr (IsVector<T>) {
      list(field, value);
    } else if constexpr (std::is_enum_v<T>) {
      if (static_cast<std::size_t>(value) < EnumText<T>::names.size()) return;
      error = invalid(std::string(field), std::to_string(static_cast<int>(value)),
                      "want one of its values");
    } else if constexpr (kIsNumber<T>) {
      number(field, static_cast<std::int64_t>(value));
    } else if constexpr (!std::is_arithmetic_v<T> && !IsSmallId<T> && !std::same_as<T, JobId>) {
      if (auto inner = fields_of(value, field)) take(*std::move(inner), std::string(field));
    }
  }

  std::optional<Error> error;

 private:
  template <class T>
  static std::int64_t size_of(const T& value) {
    return static_cast<std::int64_t>(value.size());
  }

  void text(std::string_view field, const std::string& value, std::int64_t most) {
    if (std::cmp_less_equal(value.size(), most)) return;
    error = invalid(std::string(field), cut(value, limits::kMaxEchoBytes),
                    at_most(most, " bytes") + ", it has " + std::to_string(value.size()));
  }

  void number(std::string_view field, std::int64_t value) {
    if (fits_any(value)) return;  // other rules refuse 0
    const Row& row = bound_of(field, within_);
    if (value >= row.least && value <= row.most) return;
    const std::string want = row.least == kLeast ? at_most(row.most, "")
                                                 : "want " + std::to_string(row.least) + " to " +
                                                       std::to_string(row.most);
    error = invalid(std::string(field), std::to_string(value), want);
  }

  template <class T>
  void list(std::string_view field, const std::vector<T>& items) {
    const std::int64_t most = fits_any(size_of(items)) ? kAny : bound_of(field, within_).most;
    if (size_of(items) > most) {
      error = invalid(std::string(field), std::to_string(items.size()), at_most(most, ""));
      return;
    }
    for (std::size_t i = 0; i < items.size() && !error; ++i) {
      const auto path = [&] { return std::string(field) + "[" + std::to_string(i) + "]"; };
      if constexpr (std::same_as<T, std::string>) {
        if (size_of(items[i]) > kText) text(path(), items[i], kText);
      } else if (auto inner = fields_of(items[i], field)) {
        take(*std::move(inner), path());
      }
    }
  }

  void take(Error inner, const std::string& path) {
    inner.field = path + "." + inner.field;
    error = std::move(inner);
  }

  std::string_view within_;
};

template <class T>
std::optional<Error> fields_of(const T& record, std::string_view within) {
  Visitor visitor(within);
  const_cast<T&>(record).fields(visitor);  // fields() is written once, for all visitors
  return std::move(visitor.error);
}

std::optional<Error> under(std::string_view path, std::optional<Error> error) {
  if (error) error->field = std::string(path) + "." + error->field;
  return error;
}

std::optional<Error> too_large(std::string field, std::size_t bytes, std::size_t most) {
  if (bytes <= most) return std::nullopt;
  return invalid(std::move(field), std::to_string(bytes) + " bytes",
                 at_most(static_cast<std::int64_t>(most), " bytes as it is stored"));
}

std::optional<Error> check_kind(const PodShape& s) {
  const bool counts =
      s.kind == GpuKind::kWhole || s.kind == GpuKind::kShared || s.kind == GpuKind::kMig;
  if (counts && s.gpus == 0) return invalid("gpus", "0", "want at least 1 for this GPU kind");
  if (s.kind == GpuKind::kFraction && s.milligpu == 0) {
    return invalid("milligpu", "0", "want 1 to 999 of one GPU");
  }
  if (s.kind == GpuKind::kMig && s.profile.empty()) {
    return invalid("profile", "", "want a MIG profile such as 1g.10gb");
  }
  return std::nullopt;
}

// Checks the rules that compare several fields of a pod. Each field is already within its bound.
std::optional<Error> check_shape(const PodShape& s) {
  if (auto error = check_kind(s)) return error;
  const std::size_t terms = selector_terms(s, s.affinity);
  if (terms > limits::kMaxSelectorTerms) {
    return invalid(
        "node_selector, affinity, tolerations", std::to_string(terms),
        at_most(kTerms, " selectors, affinity terms with their requirements, and tolerations"));
  }
  if (const std::size_t rules = s.spread.size() + s.near.size(); rules > limits::kMaxPodRules) {
    return invalid("spread, near", std::to_string(rules),
                   at_most(static_cast<std::int64_t>(limits::kMaxPodRules),
                           " rules about the domains of other pods"));
  }
  for (std::size_t i = 0; i < s.spread.size(); ++i) {
    if (s.spread[i].max_skew > 0) continue;
    return invalid("spread[" + std::to_string(i) + "].max_skew", "0", "want at least 1");
  }
  return std::nullopt;
}

// Returns the mistake in one wish of a gang with `pods` pods.
template <class T>
std::optional<Error> check_wish(const Wish<T>& wish, const GangTerms& terms, std::uint64_t pods) {
  const T value = terms.*wish.member;
  if (value == T{}) return std::nullopt;
  const auto refused = [&](std::string want) {
    std::string got;
    text::write_value(got, value);
    return invalid(std::string(wish.field), std::move(got), std::move(want));
  };
  if (wish.needs.met != nullptr && !wish.needs.met(terms.topology, terms.segment)) {
    return refused(std::string(wish.needs.in_request));
  }
  if constexpr (kIsNumber<T>) {
    if (!wish.at_most_pods.empty() && value > pods) {
      return refused(std::string(wish.at_most_pods) + std::to_string(pods));
    }
  }
  return std::nullopt;
}

// Returns the mistakes of the wishes, in the order of kWishes.
std::vector<Error> check_wishes(const GangTerms& terms, std::uint64_t pods) {
  std::vector<Error> found;
  each_wish([&](const auto& wish) {
    if (auto error = check_wish(wish, terms, pods)) found.push_back(*std::move(error));
  });
  return found;
}

std::optional<Error> check_topology(const GangRequest& r, std::uint64_t pods, bool mig) {
  const auto [topology, segment] = std::pair(r.terms.topology, r.terms.segment);
  const bool peers = topology == Topology::kNvlink || topology == Topology::kNvlinkExclusive ||
                     topology == Topology::kRack || segment > 0;
  if (mig && peers) {
    return invalid("topology", std::string(enum_name(topology)),
                   "MIG slices have no peer-to-peer: want any or node, and no segment");
  }
  if (segment > pods || (segment > 0 && pods % segment != 0)) {
    return invalid("segment", std::to_string(segment),
                   "want a divisor of the " + std::to_string(pods) + " pods");
  }
  auto mistakes = check_wishes(r.terms, pods);
  if (mistakes.empty()) return std::nullopt;
  return std::move(mistakes.back());  // of a request the last mistake, of a pod the first
}

// Checks the rules that compare several fields of a gang. Each field is already within its bound.
std::optional<Error> check_gang(const GangRequest& r) {
  std::uint64_t pods = 0;
  bool mig = false;
  for (std::size_t i = 0; i < r.groups.size(); ++i) {
    const PodGroup& group = r.groups[i];
    const std::string path = "groups[" + std::to_string(i) + "]";
    if (group.count == 0) return invalid(path + ".count", "0", "want at least 1 pod");
    pods += group.count;
    mig = mig || group.shape.kind == GpuKind::kMig;
    if (auto error = under(path + ".shape", check_shape(group.shape))) return error;
    const std::size_t bytes = stored_bytes(group.shape);
    if (auto error = too_large(path + ".shape", bytes, limits::kMaxPodRequestBytes)) return error;
  }
  if (pods == 0 || pods > limits::kMaxPodsPerJob) {
    return invalid("pods", std::to_string(pods), "want 1 to " + std::to_string(kPods));
  }
  if (auto error = check_topology(r, pods, mig)) return error;
  return too_large("groups", stored_bytes(r), limits::kMaxJobRequestBytes);
}

std::optional<Error> check_pod(const PodRecord& pod) {
  if (auto error = under("shape", check_shape(pod.shape))) return error;
  auto mistakes = check_wishes(pod.terms, std::max(pod.gang_size, 1u));
  if (!mistakes.empty()) return std::move(mistakes.front());
  return too_large("shape", stored_bytes(pod.shape), limits::kMaxPodRequestBytes);
}

std::optional<Error> check_levels(const NodeSpec& node) {
  if (node.levels.size() > limits::kTopologyLevels) {
    return invalid("levels", std::to_string(node.levels.size()),
                   at_most(static_cast<std::int64_t>(limits::kTopologyLevels), ""));
  }
  for (const std::string& name : node.levels) {
    if (std::cmp_greater(name.size(), kName)) {
      return invalid("levels", cut(name, limits::kMaxEchoBytes), at_most(kName, " bytes"));
    }
  }
  return std::nullopt;
}

std::optional<Error> check_node(const NodeSpec& node) {
  if (auto error = fields_of(node)) return error;
  if (auto error = check_levels(node)) return error;
  return too_large("labels, taints, extended", stored_bytes(node), limits::kMaxNodeBytes);
}

// Checks a node. The error names the node, because an import may have thousands of nodes.
std::optional<Error> check_named(const NodeSpec& node) {
  auto error = check_node(node);
  if (error) error->field = "node " + cut(node.name, limits::kMaxEchoBytes) + ": " + error->field;
  return error;
}

template <class T>
std::optional<Error> check_body(const T& body) {
  return fields_of(body);
}

std::optional<Error> check_body(const in::SubmitJob& body) {
  if (auto error = fields_of(body)) return error;
  return under("request", check_gang(body.request));
}

std::optional<Error> check_body(const in::PodSeen& body) {
  if (auto error = fields_of(body)) return error;
  return under("pod", check_pod(body.pod));
}

std::optional<Error> check_body(const in::GangSeen& body) {
  if (auto error = fields_of(body)) return error;
  return check_gang(GangRequest{body.groups, {}});
}

std::optional<Error> check_body(const in::OwnerSeen& body) {
  if (auto error = fields_of(body)) return error;
  if (auto error = under("pod", check_pod(body.pod))) return error;
  return body.groups.empty() ? std::nullopt : check_gang(GangRequest{body.groups, {}});
}

std::optional<Error> check_body(const in::NodeSeen& body) {
  if (auto error = check_named(body.node)) return error;
  return fields_of(body);
}

std::optional<Error> check_body(const in::ImportNodes& body) {
  for (const NodeSpec& node : body.nodes)
    if (auto error = check_named(node)) return error;
  return fields_of(body);
}

// Checks the spec first, so that an error names the fields of the account ("spec.path").
std::optional<Error> check_body(const in::SetAccount& body) {
  if (auto error = fields_of(body.spec, "spec")) return error;
  return fields_of(body);
}

struct Head {
  const Input& input;
  template <class V>
  void fields(V& v) {
    v(0, "request_id", input.request_id);
    v(0, "actor", input.actor);
  }
};

}  // namespace

const Row* row_of(std::string_view field, std::string_view within) {
  const auto [first, last] =
      std::equal_range(kTable.begin(), kTable.end(), Row{field, "", 0, 0},
                       [](const Row& a, const Row& b) { return a.field < b.field; });
  const auto exact = std::find_if(first, last, [&](const Row& r) { return r.within == within; });
  if (exact != last) return &*exact;
  return first != last && first->within.empty() ? &*first : nullptr;
}

std::optional<Error> check(const in::Body& body) {
  return std::visit([](const auto& b) { return check_body(b); }, body);
}

std::optional<Error> check(const Input& input) {
  if (auto error = fields_of(Head{input})) return error;
  return check(input.body);
}

std::optional<Error> check(const PodRecord& pod) {
  if (auto error = fields_of(pod, "pod")) return error;
  return check_pod(pod);
}

std::optional<Error> check(const NodeSpec& node) { return check_node(node); }
std::optional<Error> check(const GangRequest& request, std::string_view path) {
  auto error = fields_of(request);
  if (!error) error = check_gang(request);
  return under(path, std::move(error));
}

std::size_t selector_terms(const PodShape& shape, const std::vector<AffinityTerm>& affinity) {
  std::size_t terms = shape.node_selector.size() + affinity.size() + shape.tolerations.size();
  for (const AffinityTerm& term : affinity) terms += term.requirements.size();
  return terms;
}

std::string cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace subak::bounds
