#include "server/activity/holders.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace subak {
namespace {

constexpr double kIdleBelow = 0.01;
constexpr double kLowUpTo = 0.25;

// Finds nodes by the names in samples.
class NodeNames {
 public:
  explicit NodeNames(const std::vector<HeldGpus::Node>& nodes) : nodes_(nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      by_name_[nodes[i].name].push_back(i);
      clusters_.insert(nodes[i].cluster_name);
    }
  }

  // nullptr: there is no such node, or several clusters have one.
  const HeldGpus::Node* find(const DeviceSample& sample) const {
    for (const std::string& name : {sample.node, sample.other_node}) {
      if (name.empty()) continue;
      if (const auto* const node = find_name(name, sample.cluster)) return node;
      const std::string host = name.substr(0, name.find('.'));
      if (host == name) continue;
      if (const auto* const node = find_name(host, sample.cluster)) return node;
    }
    return nullptr;
  }

 private:
  const HeldGpus::Node* find_name(const std::string& name, const std::string& cluster) const {
    const auto at = by_name_.find(name);
    if (at == by_name_.end()) return nullptr;
    const bool named = clusters_.contains(cluster);
    const HeldGpus::Node* found = nullptr;
    for (const std::size_t i : at->second) {
      if (named && nodes_[i].cluster_name != cluster) continue;
      if (found != nullptr) return nullptr;
      found = &nodes_[i];
    }
    return found;
  }

  const std::vector<HeldGpus::Node>& nodes_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_name_;
  std::set<std::string> clusters_;
};

bool is_busy(const DeviceSample& sample) {
  return sample.activity && class_of(*sample.activity) != ActivityClass::kIdle;
}

std::string gpu_name(const DeviceSample& sample) {
  const std::string& gpu = sample.gpu.empty() ? sample.uuid : sample.gpu;
  return sample.instance.empty() ? gpu : gpu + "/" + sample.instance;
}

// The part of the GPU's power that the pod's device has: an instance or a replica has its part of
// the GPU's milli-GPU.
double watts_of(const OpenUsage& pod, double gpu_watts, std::uint32_t devices) {
  const double milli = static_cast<double>(pod.milligpu) / std::max(1u, devices);
  return gpu_watts * std::min(1.0, milli / kMilliPerGpu);
}

// The samples and holders of one node.
struct NodeParts {
  const HeldGpus::Node* node = nullptr;
  // The indexes of samples and pods.
  std::vector<std::size_t> devices, pods;
};

class Join {
 public:
  Join(const HeldGpus& held, const ActivitySamples& samples, const LastHolders& last)
      : held_(held), samples_(samples), last_(last) {
    out_.pods.resize(held.pods.size());
  }

  Joined run() && {
    const NodeNames names(held_.nodes);
    std::map<NodeId, NodeParts> parts;
    for (std::size_t i = 0; i < samples_.devices.size(); ++i) {
      const HeldGpus::Node* const node = names.find(samples_.devices[i]);
      if (node == nullptr) {
        ++out_.unknown_nodes;
        continue;
      }
      NodeParts& part = parts[node->id];
      part.node = node;
      part.devices.push_back(i);
    }
    for (std::size_t i = 0; i < held_.pods.size(); ++i) {
      if (held_.pods[i].state == UsageState::kHeld) continue;  // the pod is not bound yet
      const auto at = parts.find(held_.pods[i].node);
      if (at != parts.end()) at->second.pods.push_back(i);
    }
    for (const auto& [id, part] : parts) join_node(part);
    return std::move(out_);
  }

 private:
  void join_node(const NodeParts& part) {
    std::map<std::string, std::size_t> by_pod;
    for (const std::size_t i : part.pods) {
      if (!held_.pods[i].pod.empty()) by_pod[held_.pods[i].pod] = i;
    }
    std::map<std::size_t, std::vector<std::size_t>> of_pod;
    std::vector<std::size_t> nameless, strange;
    for (const std::size_t i : without_covered(part.devices)) {
      const std::string& pod = samples_.devices[i].pod;
      const auto at = by_pod.find(pod);
      if (pod.empty()) {
        nameless.push_back(i);
      } else if (at == by_pod.end()) {
        strange.push_back(i);
      } else {
        of_pod[at->second].push_back(i);
      }
    }
    for (const auto& [pod, devices] : of_pod) count(pod, devices, held_.pods[pod].gpus);
    for (const std::size_t i : strange) {
      if (is_busy(samples_.devices[i]) && !held_lately(part, samples_.devices[i].pod)) {
        add_unheld(part, i, gpu_name(samples_.devices[i]));
      }
    }
    std::vector<std::size_t> rest;
    for (const std::size_t i : part.pods) {
      if (!of_pod.contains(i)) rest.push_back(i);
    }
    join_nameless(part, nameless, rest);
  }

  // Leaves out samples that describe a GPU for a second time: the sample of a GPU whose MIG
  // instances have samples, and a sample without a pod if the same device also has a sample with a
  // pod.
  std::vector<std::size_t> without_covered(const std::vector<std::size_t>& devices) const {
    std::set<std::string> split, named;
    for (const std::size_t i : devices) {
      const DeviceSample& d = samples_.devices[i];
      if (!d.instance.empty()) split.insert(d.uuid + "\n" + d.gpu);
      if (!d.pod.empty()) named.insert(d.uuid + "\n" + gpu_name(d));
    }
    std::vector<std::size_t> out;
    for (const std::size_t i : devices) {
      const DeviceSample& d = samples_.devices[i];
      if (d.instance.empty() && split.contains(d.uuid + "\n" + d.gpu)) continue;
      if (d.pod.empty() && named.contains(d.uuid + "\n" + gpu_name(d))) continue;
      out.push_back(i);
    }
    return out;
  }

  // Counts the devices for the pod, which holds `gpus` GPUs; 0: the number is not known.
  void count(std::size_t pod, const std::vector<std::size_t>& devices, std::uint32_t gpus) {
    PodActivity& to = out_.pods[pod];
    to.devices = std::max(gpus, static_cast<std::uint32_t>(devices.size()));
    for (const std::size_t i : devices) {
      const DeviceSample& d = samples_.devices[i];
      if (d.activity) add_class(to, class_of(*d.activity), 1);
      to.watts += watts_of(held_.pods[pod], d.watts.value_or(0), to.devices);
    }
  }

  static void add_class(PodActivity& to, ActivityClass one, std::uint32_t count) {
    switch (one) {
      case ActivityClass::kIdle:
        to.idle += count;
        return;
      case ActivityClass::kLow:
        to.low += count;
        return;
      case ActivityClass::kActive:
        to.active += count;
        return;
    }
  }

  // `devices` have no pod, and `pods` have no device.
  void join_nameless(const NodeParts& part, const std::vector<std::size_t>& devices,
                     const std::vector<std::size_t>& pods) {
    if (!pods.empty()) join_by_node(devices, pods);
    std::vector<std::size_t> busy;
    for (const std::size_t i : devices) {
      if (is_busy(samples_.devices[i])) busy.push_back(i);
    }
    std::size_t explained = released_lately(part);
    bool slices = false;
    for (const std::size_t i : pods) {
      explained += held_.pods[i].gpus;
      slices |= held_.pods[i].gpus == 0;
    }
    if (slices) return;  // how many instances these pods hold is not known
    for (std::size_t n = explained; n < busy.size(); ++n) {
      add_unheld(part, busy[n], explained == 0 ? gpu_name(samples_.devices[busy[n]]) : "");
    }
  }

  void join_by_node(const std::vector<std::size_t>& devices, const std::vector<std::size_t>& pods) {
    std::set<ActivityClass> classes;
    for (const std::size_t i : devices) {
      const auto& activity = samples_.devices[i].activity;
      if (!activity) return;
      classes.insert(class_of(*activity));
    }
    std::uint32_t gpus = 0;
    for (const std::size_t i : pods) gpus += held_.pods[i].gpus;
    if (devices.empty() || gpus == 0) return;
    if (classes.size() == 1) {
      for (const std::size_t i : pods) {
        PodActivity& to = out_.pods[i];
        to.devices = std::max(1u, held_.pods[i].gpus);
        add_class(to, *classes.begin(), to.devices);
        to.watts = mean_watts(devices) * to.devices * watts_of(held_.pods[i], 1, to.devices);
      }
    } else if (pods.size() == 1 && gpus >= devices.size()) {
      count(pods.front(), devices, gpus);
    }
  }

  double mean_watts(const std::vector<std::size_t>& devices) const {
    double sum = 0;
    for (const std::size_t i : devices) sum += samples_.devices[i].watts.value_or(0);
    return sum / static_cast<double>(devices.size());
  }

  bool held_lately(const NodeParts& part, const std::string& pod) const {
    const auto at = last_.pods.find(part.node->id);
    return at != last_.pods.end() && at->second.contains(pod);
  }

  // The GPUs of pods that held them at the last instant and hold none now.
  std::size_t released_lately(const NodeParts& part) const {
    const auto at = last_.pods.find(part.node->id);
    if (at == last_.pods.end()) return 0;
    std::size_t gpus = 0;
    for (const auto& [pod, count] : at->second) gpus += count;
    for (const std::size_t i : part.pods) {
      const auto still = at->second.find(held_.pods[i].pod);
      if (still != at->second.end()) gpus -= std::min<std::size_t>(gpus, still->second);
    }
    return gpus;
  }

  void add_unheld(const NodeParts& part, std::size_t device, std::string gpu) {
    const DeviceSample& d = samples_.devices[device];
    out_.unheld.push_back(
        {part.node->cluster_name, part.node->name, std::move(gpu), d.pod, *d.activity});
  }

  const HeldGpus& held_;
  const ActivitySamples& samples_;
  const LastHolders& last_;
  Joined out_;
};

}  // namespace

ActivityClass class_of(double activity) {
  if (activity < kIdleBelow) return ActivityClass::kIdle;
  return activity <= kLowUpTo ? ActivityClass::kLow : ActivityClass::kActive;
}

HeldGpus held_gpus(const Engine& engine) {
  HeldGpus out;
  out.pods = engine.open_usage();
  const std::shared_ptr<const View> view = engine.view();
  for (const ClusterView& cluster : *view->clusters) {
    for (const NodeId id : engine.fleet().nodes(cluster.id)) {
      out.nodes.push_back({id, cluster.id, engine.fleet().node(id)->name, cluster.name});
    }
  }
  return out;
}

Joined joined(const HeldGpus& held, const ActivitySamples& samples, const LastHolders& last) {
  return Join(held, samples, last).run();
}

LastHolders last_holders(const HeldGpus& held) {
  LastHolders out;
  for (const OpenUsage& pod : held.pods) out.pods[pod.node][pod.pod] += pod.gpus;
  return out;
}

}  // namespace subak
