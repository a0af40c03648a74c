// The wishes of a gang, which is the pods of one job that start together. A wish is a request
// beyond the resources of the single pods, such as a topology or spare nodes. One table declares
// all wishes.
//
// kWishes has one row for each wish: its names, durable numbers, bounds and texts. All code that
// reads, checks, stores or shows wishes uses these rows, and so do the flags of `subak job submit`.
// A record stores a gang's wishes as one GangTerms. So a new wish needs only a member of GangTerms,
// a row, and the code that fulfils the wish.
// Threads: any; pure functions, plain values.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/limits.h"
#include "core/names.h"
#include "core/text.h"
#include "core/versions.h"

namespace subak {

// How close together the GPUs of the gang must be (pod key subak.gpu/topology).
// Values are durable: append only.
enum class Topology : std::uint8_t {
  // The nodes may be anywhere in the cluster.
  kAny,
  // All pods of the gang, or of a segment, are on one node.
  kNode,
  // The GPUs are inside one NVLink domain: half a node, a node or a clique.
  kNvlink,
  // The same as kNvlink, and no other job uses the domain at the same time.
  kNvlinkExclusive,
  // The GPUs are inside one rack or clique.
  kRack,
};
template <>
struct EnumText<Topology> {
  static constexpr std::array<std::string_view, 5> names{"any", "node", "nvlink",
                                                         "nvlink-exclusive", "rack"};
};

// True if a gang with this topology and segment may have the wish `balanced`: it asks for NVLink
// domains that other jobs may use too.
constexpr bool may_balance(Topology topology, std::uint32_t segment) {
  return topology == Topology::kNvlink || (topology == Topology::kAny && segment > 0);
}

// True if a gang with this topology and segment may have the wish `spare`: it asks for NVLink
// domains.
constexpr bool may_spare(Topology topology, std::uint32_t segment) {
  return topology == Topology::kNvlinkExclusive || may_balance(topology, segment);
}

// The wishes of one gang. Each wish is a bool, a uint32 or the topology. The zero value means that
// the gang does not have the wish.
struct GangTerms {
  // How close together the gang's GPUs must be. If `segment` is set, the topology applies to each
  // segment, not to the gang.
  Topology topology = Topology::kAny;
  // True: the topology is only a preference. If Subak cannot meet the topology, the gang starts as
  // with kAny.
  bool prefer = false;
  // Each group of `segment` consecutive pods shares one domain of the topology; with kAny, one
  // NVLink domain. 0: the gang has no segments, so the topology applies to the gang.
  std::uint32_t segment = 0;
  // True: the gang may have GPUs of several products. False: all GPUs of the gang are of one
  // product.
  bool mixed_products = false;
  // True: the gang is split over as few NVLink domains as possible, one part in each. The sizes of
  // the parts differ by at most one pod, or one segment. may_balance() says which gangs may have
  // this wish.
  bool balanced = false;
  // How many whole nodes stay free, to replace broken nodes, in each NVLink domain of several nodes
  // that the gang uses. No other job gets these nodes while the gang is in the domain. may_spare()
  // says which gangs may have this wish. With `prefer`, the search leaves these nodes free when it
  // places the gang, but other jobs may use them.
  std::uint32_t spare = 0;
  // True: the gang's GPU pods use a ComputeDomain, the multi-node NVLink that NVIDIA's DRA driver
  // sets up. A node takes part in at most one ComputeDomain. DomainRules limits the number of gangs
  // that use one in the same NVLink domain of several nodes.
  bool compute_domain = false;
  // True: Subak never ends the gang so that another job gets its GPUs (docs/design/0060).
  bool not_preemptible = false;

  // GangRequest::fields() calls this to visit the wishes as its fields.
  template <class V>
  void request_fields(V& v);
  // PodRecord::fields() calls this to visit the wishes with a number from First to Last.
  template <int First, int Last, class V>
  void pod_fields(V& v);

  friend bool operator==(const GangTerms&, const GangTerms&) = default;
};

// The condition on a gang's topology and segment under which a wish is allowed. `met` is nullptr if
// the wish is always allowed.
struct WishNeeds {
  // Returns true if the gang's topology and segment allow the wish.
  bool (*met)(Topology topology, std::uint32_t segment) = nullptr;
  // The end of the error message if a pod's key is refused. It begins with "want".
  std::string_view in_key = {};
  // The end of the error message if a field of a request is refused. It begins with "want".
  std::string_view in_request = {};
};

// One row of kWishes: a wish whose value is a T. All texts are string literals.
template <class T>
struct Wish {
  // The member of GangTerms that has the wish's value. Each member has one row.
  T GangTerms::*member = nullptr;
  // The wish's name in records and messages, such as "mixed_products". The pod key
  // "subak.gpu/mixed-products" and the flag "--mixed-products" of `subak job submit` have the same
  // words.
  std::string_view field = {};
  // The wish's key in the labels or annotations of pods. Empty: the wish has no key and flag of its
  // own. (`prefer` is a part of the topology's key.)
  std::string_view key = {};
  // The flag, such as "not-preemptible", if the key means the opposite: the key's value "true"
  // means no wish. Empty: the flag has the words of the key.
  std::string_view opposite = {};
  // The wish's durable number in a GangRequest.
  FieldNumber in_request = 0;
  // The wish's durable number in a PodRecord. Both durable numbers sort the rows in the same order
  // (agree()).
  FieldNumber in_pod = 0;
  // The help text of the flag, without a final period.
  std::string_view help = {};
  // The words for the wish in a sentence about its gang. "#" stands for the value of a number.
  std::string_view says = {};
  // The wish's name in tables. Empty: flag() is the name.
  std::string_view brief = {};

  // Only for wishes that are numbers: the least and the most value of the key, and the unit of this
  // number, such as "nodes".
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  std::string_view unit = {};
  // The error message if the value exceeds the gang's number of pods. The number of pods follows
  // these words. Empty: the value may exceed it.
  std::string_view at_most_pods = {};

  WishNeeds needs = {};
  // The row's index in kWishes. Only placed() sets this index.
  std::size_t place = 0;

  // The flag without "--", such as "mixed-products".
  constexpr std::string_view flag() const {
    return opposite.empty() ? key.substr(names::kPrefix.size()) : opposite;
  }
  // The wish's name as the header of a table's column.
  constexpr std::string_view short_name() const { return brief.empty() ? flag() : brief; }
};

namespace wish_table {
// Returns the rows as a tuple, and sets `place` of each row to its index.
template <class... T>
constexpr std::tuple<Wish<T>...> placed(Wish<T>... rows) {
  std::size_t place = 0;
  ((rows.place = place++), ...);
  return {rows...};
}
}  // namespace wish_table

// The rows, in the order in which texts for people list the wishes.
inline constexpr auto kWishes = wish_table::placed(
    Wish<Topology>{
        .member = &GangTerms::topology,
        .field = "topology",
        .key = "subak.gpu/topology",
        .in_request = 2,
        .in_pod = 10,
        .help = "what the GPUs share: any, node, nvlink, nvlink-exclusive or rack; prefer:T is a "
                "wish only",
    },
    Wish<bool>{.member = &GangTerms::prefer, .field = "prefer", .in_request = 3, .in_pod = 11},
    Wish<std::uint32_t>{
        .member = &GangTerms::segment,
        .field = "segment",
        .key = "subak.gpu/segment",
        .in_request = 4,
        .in_pod = 12,
        .help = "each N pods share one domain of --topology",
        .says = " in segments of #",
        .brief = "seg",
        .least = 1,
        .most = limits::kMaxPodsPerJob,
        .unit = "pods",
    },
    Wish<bool>{
        .member = &GangTerms::balanced,
        .field = "balanced",
        .key = "subak.gpu/balanced",
        .in_request = 6,
        .in_pod = 28,
        .help = "split the job evenly over as few NVLink domains as possible",
        .says = ", balanced",
        .needs = {.met = may_balance,
                  .in_key = "want it beside topology nvlink or prefer:nvlink, or a segment without "
                            "a topology",
                  .in_request = "want it beside topology nvlink or prefer:nvlink, or a segment of "
                                "topology any"},
    },
    Wish<std::uint32_t>{
        .member = &GangTerms::spare,
        .field = "spare",
        .key = "subak.gpu/spare",
        .in_request = 7,
        .in_pod = 29,
        .help = "nodes of each NVLink domain to leave free for replacements",
        .says = ", with # spare",
        .most = limits::kMaxSpareNodes,
        .unit = "nodes",
        .at_most_pods = "want at most as many spare nodes as the gang has pods, ",
        .needs = {.met = may_spare,
                  .in_key = "want it beside topology nvlink or nvlink-exclusive, also with "
                            "prefer:, or a segment without a topology",
                  .in_request = "want it beside topology nvlink or nvlink-exclusive, also as a "
                                "wish, or a segment of topology any"},
    },
    Wish<bool>{
        .member = &GangTerms::mixed_products,
        .field = "mixed_products",
        .key = "subak.gpu/mixed-products",
        .in_request = 5,
        .in_pod = 27,
        .help = "use several GPU products if one has too few GPUs",
        .says = ", of mixed products",
    },
    Wish<bool>{
        .member = &GangTerms::compute_domain,
        .field = "compute_domain",
        .key = "subak.gpu/compute-domain",
        .in_request = 8,
        .in_pod = 30,
        .help = "its pods use a ComputeDomain; the policy cliqueGangs limits such jobs in an "
                "NVLink domain",
        .says = ", with a ComputeDomain",
    },
    Wish<bool>{
        .member = &GangTerms::not_preemptible,
        .field = "not_preemptible",
        .key = "subak.gpu/preemptible",
        .opposite = "not-preemptible",
        .in_request = 9,
        .in_pod = 34,
        .help = "never end the job for another one; it then borrows only what no quota promises",
        .says = ", not preemptible",
    });
// The number of rows of kWishes.
inline constexpr std::size_t kWishCount = std::tuple_size_v<decltype(kWishes)>;
// As the template argument Last, this value means all wishes from First on.
inline constexpr int kLastWishNumber = std::numeric_limits<int>::max();

// Calls f(row) for each row, in the order of kWishes.
template <class F>
constexpr void each_wish(F&& f) {
  std::apply([&](const auto&... rows) { (f(rows), ...); }, kWishes);
}

namespace wish_table {

// The indexes of kWishes in the order of the durable numbers.
inline constexpr std::array<std::size_t, kWishCount> kByNumber = [] {
  std::array<std::size_t, kWishCount> order{};
  std::array<int, kWishCount> numbers{};
  each_wish([&](const auto& wish) {
    order[wish.place] = wish.place;
    numbers[wish.place] = wish.in_pod;
  });
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });
  return order;
}();

// True if the durable numbers of both records sort the wishes in the same order, and if each key
// has the words of its wish's name.
constexpr bool agree() {
  bool ok = true;
  int request = 0, pod = 0;
  const auto look = [&](const auto& wish) {
    ok = ok && wish.in_request > request && wish.in_pod > pod;
    request = wish.in_request;
    pod = wish.in_pod;
    if (wish.key.empty()) return;
    ok = ok && wish.key.starts_with(names::kPrefix) && wish.flag().size() == wish.field.size();
    for (std::size_t i = 0; ok && i < wish.field.size(); ++i) {
      ok = wish.flag()[i] == (wish.field[i] == '_' ? '-' : wish.field[i]);
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (look(std::get<kByNumber[I]>(kWishes)), ...); }
  (std::make_index_sequence<kWishCount>());
  return ok;
}
static_assert(agree());

// Calls f for row I of kWishes if its number in a PodRecord is from First to Last.
template <std::size_t I, int First, int Last, class F>
constexpr void visit_between(F& f) {
  constexpr int kNumber = std::get<I>(kWishes).in_pod;
  if constexpr (kNumber >= First && kNumber <= Last) f(std::get<I>(kWishes));
}

}  // namespace wish_table

// Calls f(row) for each row whose number in a PodRecord is from First to Last, in the order of
// these numbers.
template <int First = 0, int Last = kLastWishNumber, class F>
constexpr void each_stored_wish(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (wish_table::visit_between<wish_table::kByNumber[I], First, Last>(f), ...);
  }
  (std::make_index_sequence<kWishCount>());
}

// Calls f(row, value) for each wish that the gang has and that has a key of its own, except its
// topology. The order is that of kWishes.
template <class F>
void each_wish_beside_topology(const GangTerms& terms, F&& f) {
  each_wish([&](const auto& wish) {
    const auto value = terms.*wish.member;
    if constexpr (!std::same_as<decltype(value), const Topology>) {
      if (value != 0 && !wish.key.empty()) f(wish, value);
    }
  });
}

// Returns the row of a member: wish_of<&GangTerms::spare>().
template <auto Member>
constexpr const auto& wish_of() {
  constexpr std::size_t kPlace = [] {
    std::size_t place = kWishCount;
    each_wish([&](const auto& wish) {
      if constexpr (std::same_as<decltype(Member), decltype(wish.member)>) {
        if (wish.member == Member) place = wish.place;
      }
    });
    return place;
  }();
  return std::get<kPlace>(kWishes);
}

template <class V>
void GangTerms::request_fields(V& v) {
  each_stored_wish([&](const auto& wish) { v(wish.in_request, wish.field, this->*wish.member); });
}

template <int First, int Last, class V>
void GangTerms::pod_fields(V& v) {
  each_stored_wish<First, Last>(
      [&](const auto& wish) { v(wish.in_pod, wish.field, this->*wish.member); });
}

// Reads "any", "nvlink-exclusive" or "prefer:rack" into the topology and `prefer`. Returns false if
// the text is no topology; `terms` is then unchanged.
bool read_topology(std::string_view text, GangTerms& terms);
// Returns the text that read_topology() reads.
std::string topology_text(const GangTerms& terms);
// True if the gang, or each part of it, must have NVLink domains of its own: a balanced gang, and a
// gang that requires an exclusive domain.
inline bool wants_own_domains(const GangTerms& terms) {
  return terms.balanced || (terms.topology == Topology::kNvlinkExclusive && !terms.prefer);
}

// Returns all wishes as words for a sentence: "prefer:nvlink in segments of 4, balanced". Equal
// texts mean equal terms.
std::string terms_text(const GangTerms& terms);

}  // namespace subak
