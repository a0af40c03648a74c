// Subak's own keys, from labels or annotations.
#include <optional>

#include "core/duration.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/pod.h"
#include "kube/quantity.h"

namespace subak {
namespace {

// Calls f(name, key) for each key that a pod may have.
template <class F>
void each_key(PodKeys& keys, F&& f) {
  f(names::kAccount, keys.account);
  f(names::kUser, keys.user);
  f(names::kJob, keys.job);
  f(names::kGangSize, keys.gang_size);
  f(names::kRank, keys.rank);
  each_stored_wish([&](const auto& wish) {
    if (!wish.key.empty()) f(wish.key, keys.wishes[wish.place]);
  });
  f(names::kTimeLimit, keys.time_limit);
  f(names::kPriority, keys.priority);
}

PodKey* key_slot(PodKeys& keys, Text name) {
  PodKey* found = nullptr;
  each_key(keys, [&](Text known, PodKey& key) {
    if (known == name) found = &key;
  });
  return found;
}

bool is_written_by_us(Text name) {
  return name == names::kStatus || name == names::kManaged || name == names::kSuspendedBy ||
         name == names::kKeptClosed || name == names::kOwnPriority ||
         name == names::kOwnPriorityClass || name == names::kCreatedBy;
}

void find_in(const TextPairs& pairs, bool labels, Pod& pod) {
  for (const auto& [name, value] : pairs) {
    if (!name.starts_with(names::kPrefix)) continue;
    PodKey* key = key_slot(pod.keys, name);
    if (key == nullptr) {
      if (!is_written_by_us(name)) pod.not_read.keys.push_back(name);
    } else if (key->set) {
      key->conflict = key->conflict || key->value != value;
    } else {
      *key = {value, true, labels, false};
    }
  }
}

class KeyReader {
 public:
  KeyReader(std::string_view path, Pod& pod) : path_(path), pod_(pod) {}

  void read() {
    conflicts();
    // The order in which mistakes are reported.
    constexpr int kClosenessNumbers = 12;  // topology, segment
    wishes<0, kClosenessNumbers>();
    // read_gang() takes the size from the key.
    (void)count(pod_.keys.gang_size, names::kGangSize, 1, limits::kMaxPodsPerJob, "pods");
    rank();
    pod_.time_limit_ms = duration(pod_.keys.time_limit, names::kTimeLimit);
    wishes<kClosenessNumbers + 1, kLastWishNumber>();
    domain();
  }

 private:
  void mistake(const PodKey& key, Text name, std::string want) {
    pod_.add_mistake({ErrorCode::kInvalid, key_field(path_, key, name), std::string(key.value),
                      std::move(want)});
  }

  void rank() {
    const PodKey& key = pod_.keys.rank;
    if (!key.set) return;
    const auto n = whole_number<std::uint32_t>(key.value);
    if (n && *n < limits::kMaxPodsPerJob) {
      pod_.rank = static_cast<std::int32_t>(*n);
      return;
    }
    mistake(key, names::kRank,
            "want its place in the gang, from 0 to " + std::to_string(limits::kMaxPodsPerJob - 1));
  }

  // A pod with Subak's ResourceClaim is in a ComputeDomain, whatever its key says. GPUs share
  // memory only inside one NVLink domain, so a gang in a ComputeDomain that names no topology gets
  // the topology nvlink.
  void domain() {
    GangTerms& terms = pod_.terms;
    if (!pod_.claims.domain_template.empty()) pod_.join_domain();
    if (!pod_.in_domain() || !pod_.claims.device.empty()) return;
    if (!pod_.keys.of(wish_of<&GangTerms::topology>()).set && terms.segment == 0)
      terms.topology = Topology::kNvlink;
  }

  // Reads the wishes whose number in a PodRecord is from First to Last. A mistaken one is not set.
  template <int First, int Last>
  void wishes() {
    each_stored_wish<First, Last>([&]<class T>(const Wish<T>& wish) {
      const PodKey& key = pod_.keys.of(wish);
      if (!key.set) return;
      T& value = pod_.terms.*wish.member;
      read_wish(key, wish, value);
      if (value == T{} || wish.needs.met == nullptr) return;
      if (wish.needs.met(pod_.terms.topology, pod_.terms.segment)) return;
      value = T{};
      mistake(key, wish.key, std::string(wish.needs.in_key));
    });
  }

  void read_wish(const PodKey& key, const Wish<bool>& wish, bool& value) {
    const bool is_yes = yes(key, wish.key);
    value = wish.opposite.empty() ? is_yes : key.value == "false";
  }

  void read_wish(const PodKey& key, const Wish<std::uint32_t>& wish, std::uint32_t& value) {
    const auto n = count(key, wish.key, wish.least, wish.most, wish.unit);
    if (!n) return;
    value = *n;
    const bool is_segment = wish.member == &GangTerms::segment;
    if (is_segment && !pod_.keys.of(wish_of<&GangTerms::topology>()).set) {
      pod_.terms.topology = Topology::kNvlink;  // what a segment is for
    }
  }

  void read_wish(const PodKey& key, const Wish<Topology>& wish, Topology&) {
    if (read_topology(key.value, pod_.terms)) return;
    mistake(key, wish.key,
            "want any, node, nvlink, nvlink-exclusive or rack, with prefer: in front if it is a "
            "wish");
  }

  void conflicts() {
    each_key(pod_.keys, [&](Text name, const PodKey& key) {
      if (!key.conflict) return;
      const PodKey other{find_text(pod_.annotations, name), true, false, true};
      mistake(other, name,
              "want the value of the label, \"" + cut_text(key.value) + "\", or only one");
    });
  }

  std::optional<std::uint32_t> count(const PodKey& key, Text name, std::uint32_t least,
                                     std::uint32_t most, Text unit) {
    if (!key.set) return std::nullopt;
    const auto n = whole_number<std::uint32_t>(key.value);
    if (n && *n >= least && *n <= most) return n;
    const std::string range = least > 0 ? " from " + std::to_string(least) + " to " : " up to ";
    mistake(key, name, "want a number of " + std::string(unit) + range + std::to_string(most));
    return std::nullopt;
  }

  bool yes(const PodKey& key, Text name) {
    if (key.value != "true" && key.value != "false") {
      mistake(key, name, "want \"true\" or \"false\"");
    }
    return key.value == "true";
  }

  DurationMs duration(const PodKey& key, Text name) {
    if (!key.set) return 0;
    const auto d = parse_duration(key.value, name);
    if (d.ok() && *d > 0) return *d;
    mistake(key, name, "want a duration above 0 such as 4h or 2d12h");
    return 0;
  }

  std::string path_;
  Pod& pod_;
};

}  // namespace

std::string key_field(std::string_view path, const PodKey& key, std::string_view name) {
  return std::string(path) + (key.label ? "metadata.labels[" : "metadata.annotations[") +
         std::string(name) + "]";
}

bool Pod::in_domain() const { return terms.compute_domain; }
void Pod::join_domain() { terms.compute_domain = true; }

NamedKey domain_key_of(const Pod& pod) {
  constexpr const auto& kWish = wish_of<&GangTerms::compute_domain>();
  return {kWish.key, pod.keys.of(kWish)};
}

NamedKey topology_key_of(const Pod& pod) {
  constexpr const auto& kWish = wish_of<&GangTerms::topology>();
  return {kWish.key, pod.keys.of(kWish)};
}

void find_keys(Pod& pod) {
  find_in(pod.labels, true, pod);
  find_in(pod.annotations, false, pod);
  pod.kube_priority.own =
      whole_number<std::int32_t>(find_text(pod.annotations, names::kOwnPriority));
}

void read_keys(std::string_view path, Pod& pod) { KeyReader(path, pod).read(); }

}  // namespace subak
