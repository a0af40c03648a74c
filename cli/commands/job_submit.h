// Makes the gang of `subak job submit`, the pods that start together, from the flags. Threads: one
// at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/gang_terms.h"
#include "subak/v1/job_service.pb.h"
#include "subak/v1/request.pb.h"

namespace subak::cli {

// The GPUs of each pod in a large gang: as many as an HGX node has.
inline constexpr std::int64_t kDefaultGpusPerPod = 8;

// What a pod requires of its node in addition to GPUs, in the forms of kubectl. Each entry is the
// text of one flag.
struct PodFlags {
  // "KEY=VALUE". The node must have all of these labels.
  std::vector<std::string> selectors;
  // "gen in (h100,h200),zone!=b". Each entry is one term, and at least one term must hold.
  std::vector<std::string> affinity;
  // "KEY", "KEY=VALUE", "KEY:EFFECT", "KEY=VALUE:EFFECT", or "*" for every taint.
  std::vector<std::string> tolerations;
  // Extended resources of each pod: "rdma/hca=1".
  std::vector<std::string> resources;
  // "8080", "53/UDP", "10.0.0.1:8080", "[::1]:53/UDP".
  std::vector<std::string> host_ports;

  // True if no flag was given.
  bool empty() const {
    return selectors.empty() && affinity.empty() && tolerations.empty() && resources.empty() &&
           host_ports.empty();
  }
};

// Adds the flags to `shape` (pod_flags.cc). Throws Failure (usage) with the flag, the value and the
// form that the flag wants.
void put_pod_flags(const PodFlags& flags, v1::PodShape* shape);

// The values of the flags for a gang's wishes, one for each wish that has a flag. A wish is what a
// gang asks for beyond the requests of its pods, such as a topology (model/gang_terms.h). Empty, 0
// and false mean that the user did not give the flag.
class WishFlags {
 public:
  // Return the variable in which the parser stores the value of this wish's flag.
  std::string& of(const Wish<Topology>&) { return topology_; }
  std::int64_t& of(const Wish<std::uint32_t>& wish) { return numbers_[wish.place]; }
  bool& of(const Wish<bool>& wish) { return given_[wish.place]; }

  // Returns the wishes. Throws Failure (usage) with the flag, its value and the form that the flag
  // wants.
  GangTerms terms() const;
  friend bool operator==(const WishFlags&, const WishFlags&) = default;

 private:
  // The text of the flag for the topology.
  std::string topology_;
  // Numbers, at the index Wish::place. 0: the flag was not given.
  std::array<std::int64_t, kWishCount> numbers_{};
  // Flags without a value, at the index Wish::place.
  std::array<bool, kWishCount> given_{};
};

// The flags of `job submit` as the user wrote them. Empty and 0 mean that a flag was not given.
struct SubmitFlags {
  // `time_limit` and `grace` are durations: "4h".
  std::string account, user, name, cluster, time_limit, grace;
  // The GPUs of all pods together: "16", "0.5", "PRODUCT=16".
  std::string gpus;
  std::int64_t pods = 0;
  // The GPUs of each pod: "8", "0.5".
  std::string gpus_per_pod;
  // Slices of each pod: "1g.10gb", "1g.10gb=2".
  std::string mig;
  // Replicas of shared GPUs, per pod.
  std::int64_t shared = 0;
  // The products that are allowed.
  std::vector<std::string> products;
  PodFlags pod;
  // The text of the file, not the file's name: a JobSpec as JSON.
  std::string file;
  // CPUs and memory of each pod, as Kubernetes quantities.
  std::string cpus, memory;
  WishFlags wishes;
  // A priority class, or a number: among the jobs of one account, the highest comes first.
  std::string priority;
  // True: the job waits until `subak job release` releases it.
  bool held = false;
};

// Returns the job that the flags describe. The GPUs become pods as follows:
// - --pods and --gpus-per-pod apply as given;
// - --gpus N and --pods determine the GPUs of each pod;
// - --gpus N and --gpus-per-pod determine the number of pods;
// - --gpus N alone is one pod up to 8 GPUs, and pods of 8 above that (the last pod gets the rest);
// - a part of one GPU is one pod.
// With a file, the gang comes from the file, and so does every value that no flag gives. Throws
// Failure (usage).
v1::JobSpec job_spec_of(const SubmitFlags& flags);

}  // namespace subak::cli
