// The gang of `job submit`, made from its flags. Threads: none.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/gang_terms.h"
#include "subak/v1/job_service.pb.h"
#include "subak/v1/request.pb.h"

namespace subak::cli {

inline constexpr std::int64_t kDefaultGpusPerPod = 8;  // in a large gang: an HGX node

// The requirements of a pod on its node beside GPUs, in the forms of kubectl. As written, one entry
// per flag.
struct PodFlags {
  std::vector<std::string> selectors;  // "KEY=VALUE"; the node must have all of these labels
  std::vector<std::string> affinity;   // "gen in (h100,h200),zone!=b": one term each, ORed
  // "KEY", "KEY=VALUE", "KEY:EFFECT", "KEY=VALUE:EFFECT"; "*".
  std::vector<std::string> tolerations;
  std::vector<std::string> resources;   // "rdma/hca=1"
  std::vector<std::string> host_ports;  // "8080", "53/UDP", "10.0.0.1:8080", "[::1]:53/UDP"

  bool empty() const {
    return selectors.empty() && affinity.empty() && tolerations.empty() && resources.empty() &&
           host_ports.empty();
  }
};

// Adds the flags to `shape` (pod_flags.cc). Throws Failure (usage) with the flag, the value and the
// form.
void put_pod_flags(const PodFlags& flags, v1::PodShape* shape);

// The flags of a gang's wishes as written, one for each wish that has a flag. Empty, 0 and false:
// not given.
class WishFlags {
 public:
  std::string& of(const Wish<Topology>&) { return topology_; }
  std::int64_t& of(const Wish<std::uint32_t>& wish) { return numbers_[wish.place]; }
  bool& of(const Wish<bool>& wish) { return given_[wish.place]; }

  // Returns the wishes. Throws Failure (usage) with the flag, the value and what it should be.
  GangTerms terms() const;
  friend bool operator==(const WishFlags&, const WishFlags&) = default;

 private:
  std::string topology_;
  std::array<std::int64_t, kWishCount> numbers_{};  // by Wish::place
  std::array<bool, kWishCount> given_{};            // by Wish::place
};

// As written; empty and 0: not given.
struct SubmitFlags {
  std::string account, user, name, cluster, time_limit;
  std::string gpus;  // of the whole job: "16", "0.5", "PRODUCT=16"
  std::int64_t pods = 0;
  std::string gpus_per_pod;  // "8", "0.5"
  std::string mig;           // "1g.10gb" or "1g.10gb=2" per pod
  std::int64_t shared = 0;   // replicas of time-sliced GPUs, per pod
  std::vector<std::string> products;
  PodFlags pod;
  std::string file;          // the file's text: a JobSpec as JSON
  std::string cpus, memory;  // per pod, Kubernetes quantities
  WishFlags wishes;
  std::int64_t priority = 0;
  bool held = false;
};

// Returns the job of the flags. The GPUs become pods as follows:
// - --pods and --gpus-per-pod apply as given;
// - --gpus N with one of them determines the other;
// - --gpus N alone is one pod up to 8 GPUs, and pods of 8 above that (the last pod gets the rest);
// - a part of one GPU is one pod.
// With a file the gang is the file's, and so is every value that no flag gives. Throws Failure
// (usage).
v1::JobSpec job_spec_of(const SubmitFlags& flags);

}  // namespace subak::cli
