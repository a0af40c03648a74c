// Subak's own keys, from labels or annotations.
#include <charconv>
#include <optional>

#include "core/cut.h"
#include "core/duration.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/pod.h"

namespace subak {
namespace {

// Named classes of subak.gpu/priority; any number between is allowed too.
constexpr std::int32_t kLowPriority = -1000;
constexpr std::int32_t kHighPriority = 1000;

PodKey* key_slot(PodKeys& keys, Text name) {
  if (name == names::kAccount) return &keys.account;
  if (name == names::kUser) return &keys.user;
  if (name == names::kJob) return &keys.job;
  if (name == names::kGangSize) return &keys.gang_size;
  if (name == names::kRank) return &keys.rank;
  if (name == names::kTopology) return &keys.topology;
  if (name == names::kSegment) return &keys.segment;
  if (name == names::kMixedProducts) return &keys.mixed_products;
  if (name == names::kBalanced) return &keys.balanced;
  if (name == names::kSpare) return &keys.spare;
  if (name == names::kComputeDomain) return &keys.compute_domain;
  if (name == names::kTimeLimit) return &keys.time_limit;
  if (name == names::kPriority) return &keys.priority;
  return nullptr;
}

bool is_written_by_us(Text name) {
  return name == names::kStatus || name == names::kManaged || name == names::kSuspendedBy ||
         name == names::kKeptClosed;
}

void find_in(const TextPairs& pairs, bool labels, Pod& pod) {
  for (const auto& [name, value] : pairs) {
    if (!name.starts_with(names::kPrefix)) continue;
    PodKey* key = key_slot(pod.keys, name);
    if (key == nullptr) {
      if (!is_written_by_us(name)) pod.unknown_keys.push_back(name);
    } else if (key->set) {
      key->conflict = key->conflict || key->value != value;
    } else {
      *key = {value, true, labels, false};
    }
  }
}

std::optional<std::uint32_t> parse_count(Text text) {
  std::uint32_t n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

class KeyReader {
 public:
  KeyReader(std::string_view path, Pod& pod) : path_(path), pod_(pod) {}

  void read() {
    conflicts();
    topology();
    if (const auto n = count(pod_.keys.segment, names::kSegment)) {
      pod_.segment = *n;
      if (!pod_.keys.topology.set) pod_.topology = Topology::kNvlink;  // what a segment is for
    }
    (void)count(pod_.keys.gang_size, names::kGangSize);  // read_gang takes it from there
    rank();
    pod_.time_limit_ms = duration(pod_.keys.time_limit, names::kTimeLimit);
    priority();
    pod_.mixed_products = yes(pod_.keys.mixed_products, names::kMixedProducts);
    balanced();
    spare();
    pod_.compute_domain = yes(pod_.keys.compute_domain, names::kComputeDomain);
  }

 private:
  void mistake(const PodKey& key, Text name, std::string want) {
    pod_.add_mistake({ErrorCode::kInvalid, key_field(path_, key, name), std::string(key.value),
                      std::move(want)});
  }

  void rank() {
    const PodKey& key = pod_.keys.rank;
    if (!key.set) return;
    const auto n = parse_count(key.value);
    if (n && *n < limits::kMaxPodsPerJob) {
      pod_.rank = static_cast<std::int32_t>(*n);
      return;
    }
    mistake(key, names::kRank,
            "want its place in the gang, from 0 to " + std::to_string(limits::kMaxPodsPerJob - 1));
  }

  void balanced() {
    pod_.balanced = yes(pod_.keys.balanced, names::kBalanced);
    if (!pod_.balanced || may_balance(pod_.topology, pod_.segment)) return;
    pod_.balanced = false;
    mistake(pod_.keys.balanced, names::kBalanced,
            "want it beside topology nvlink or prefer:nvlink, or a segment without a topology");
  }

  void spare() {
    const PodKey& key = pod_.keys.spare;
    if (!key.set) return;
    const auto nodes = parse_count(key.value);
    if (!nodes || *nodes > limits::kMaxSpareNodes) {
      return mistake(key, names::kSpare,
                     "want a number of nodes up to " + std::to_string(limits::kMaxSpareNodes));
    }
    if (*nodes > 0 && !may_spare(pod_.topology, pod_.segment)) {
      return mistake(key, names::kSpare,
                     "want it beside topology nvlink or nvlink-exclusive, also with prefer:, or a "
                     "segment without a topology");
    }
    pod_.spare = *nodes;
  }

  void conflicts() {
    const PodKeys& k = pod_.keys;
    for (const auto& [key, name] :
         {std::pair(&k.account, names::kAccount), std::pair(&k.user, names::kUser),
          std::pair(&k.job, names::kJob), std::pair(&k.gang_size, names::kGangSize),
          std::pair(&k.rank, names::kRank), std::pair(&k.topology, names::kTopology),
          std::pair(&k.segment, names::kSegment),
          std::pair(&k.mixed_products, names::kMixedProducts),
          std::pair(&k.balanced, names::kBalanced), std::pair(&k.spare, names::kSpare),
          std::pair(&k.compute_domain, names::kComputeDomain),
          std::pair(&k.time_limit, names::kTimeLimit), std::pair(&k.priority, names::kPriority)}) {
      if (!key->conflict) continue;
      const PodKey other{find_text(pod_.annotations, name), true, false, true};
      mistake(other, name,
              "want the value of the label, \"" + cut_text(key->value) + "\", or only one");
    }
  }

  void topology() {
    if (!pod_.keys.topology.set) return;
    constexpr Text kPrefer = "prefer:";
    Text value = pod_.keys.topology.value;
    const bool prefer = value.starts_with(kPrefer);
    if (prefer) value.remove_prefix(kPrefer.size());
    const auto topology = enum_from<Topology>(value);
    if (!topology) {
      return mistake(pod_.keys.topology, names::kTopology,
                     "want any, node, nvlink, nvlink-exclusive or rack, with prefer: in front if "
                     "it is a wish");
    }
    pod_.topology = *topology;
    pod_.prefer = prefer;
  }

  std::optional<std::uint32_t> count(const PodKey& key, Text name) {
    if (!key.set) return std::nullopt;
    const auto n = parse_count(key.value);
    if (n && *n >= 1 && *n <= limits::kMaxPodsPerJob) return n;
    mistake(key, name, "want a number of pods from 1 to " + std::to_string(limits::kMaxPodsPerJob));
    return std::nullopt;
  }

  bool yes(const PodKey& key, Text name) {
    if (key.set && key.value != "true" && key.value != "false") {
      mistake(key, name, "want \"true\" or \"false\"");
    }
    return key.set && key.value == "true";
  }

  DurationMs duration(const PodKey& key, Text name) {
    if (!key.set) return 0;
    const auto d = parse_duration(key.value, name);
    if (d.ok() && *d > 0) return *d;
    mistake(key, name, "want a duration above 0 such as 4h or 2d12h");
    return 0;
  }

  void priority() {
    pod_.priority = pod_.kube_priority;
    const PodKey& key = pod_.keys.priority;
    if (!key.set) return;
    std::int32_t n = 0;
    const char* const end = key.value.data() + key.value.size();
    const auto [stop, ec] = std::from_chars(key.value.data(), end, n);
    if (key.value == "low") {
      pod_.priority = kLowPriority;
    } else if (key.value == "normal") {
      pod_.priority = 0;
    } else if (key.value == "high") {
      pod_.priority = kHighPriority;
    } else if (ec == std::errc() && stop == end) {
      pod_.priority = n;
    } else {
      mistake(key, names::kPriority, "want low, normal, high or a whole number");
    }
  }

  std::string path_;
  Pod& pod_;
};

}  // namespace

std::string key_field(std::string_view path, const PodKey& key, std::string_view name) {
  return std::string(path) + (key.label ? "metadata.labels[" : "metadata.annotations[") +
         std::string(name) + "]";
}

void find_keys(Pod& pod) {
  find_in(pod.labels, true, pod);
  find_in(pod.annotations, false, pod);
}

void read_keys(std::string_view path, Pod& pod) { KeyReader(path, pod).read(); }

}  // namespace subak
