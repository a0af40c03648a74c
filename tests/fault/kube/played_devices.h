// Simulates the GPUs of nodes: whether a node offers them by the device plugin or by ResourceSlices
// of a DRA driver, how MIG Manager cuts them, and which pod has which device.
// Threads: one at a time.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api_objects.h"
#include "device_objects.h"
#include "sim/read/rng.h"

namespace subak::fault {

// What is wrong on purpose, so that a judge must say so.
enum class Plant : std::uint8_t {
  kNothing,
  kGivesTwice,       // the scheduler gives a device that a claim has
  kDoublesPool,      // a driver publishes each device in two pools
  kLosesTemplate,    // the template of a ComputeDomain vanishes, and no watch says so
  kForgetsDeletion,  // the API server deletes no ComputeDomain
  kLosesDomain,      // the API server loses the ComputeDomains that it made
  kHidesMig,         // nodes do not say what MIG Manager does
};

enum class Offer : std::uint8_t { kNothing, kPlugin, kClaims };

// What MIG Manager does to a node. kAsked: the label names another configuration, and MIG Manager
// has not begun. kLabelled: the state is success, and the kubelet still reports what was before.
enum class MigStep : std::uint8_t { kDone, kAsked, kPending, kRebooting, kLabelled, kFailed };

class PlayedDevices {
 public:
  static constexpr std::size_t kNodes = 9;

  PlayedDevices(ApiObjects& objects, sim::Rng& rng);

  // The name of the node with this number, and the number in a name.
  static std::string name_of(std::size_t i) { return "n" + std::to_string(i); }
  static std::size_t index_of(const std::string& node) { return std::stoul(node.substr(1)); }

  // Adds labels and resources to the object of a node that is there.
  void write(std::size_t i, Object& node);
  // True if the object of the node is as write() would make it no more. Clears it.
  bool take_changed(std::size_t i) { return std::exchange(nodes_[i].changed, false); }
  void node_back(std::size_t i);
  void node_gone(std::size_t i);

  // Something happens by itself: a driver publishes, a node goes from one world to the other, MIG
  // Manager takes a step. `there`: nodes that exist.
  void act(const std::set<std::size_t>& there);
  // Everything that has begun comes to its end, one step of each node. False: nothing has begun.
  bool progress(const std::set<std::size_t>& there);
  // Each node returns to what it was at first.
  void heal();

  // The devices of this kind that the node offers to pods (`claimed` false) or claims, and nobody has.
  std::vector<DeviceId> free(const std::string& node, bool claimed, bool slices) const;
  // Takes `count` of them, whichever. False: there are fewer.
  bool take(const std::string& node, bool claimed, bool slices, std::size_t count,
            const std::string& holder);
  void give_back(const std::string& holder);
  // What a node can have at most, whatever it offers now.
  std::int64_t most(const std::string& node, bool slices) const;
  // True while MIG Manager changes the node, by its labels.
  bool is_changing(std::size_t i) const;
  // The cards or slices that the node's own words say at the moment, and that a reader who has
  // seen all counts.
  std::int64_t offered(std::size_t i, bool slices) const;
  bool has_channel(const std::string& node) const;
  // The channel of a node goes to one claim.
  bool take_channel(const std::string& node, const std::string& holder);

  // Two holders of one device; empty: there are none.
  const std::vector<std::string>& complaints() const { return complaints_; }
  // True if the driver of the node has published all that it has to.
  bool is_settled(std::size_t i) const {
    return nodes_[i].to_publish.empty() && nodes_[i].old.empty();
  }
  // How often MIG Manager has begun a change.
  std::size_t mig_changes() const { return mig_changes_; }
  Plant plant = Plant::kNothing;

 private:
  struct Slice {
    std::string name;
    std::vector<DeviceId> devices;
  };
  struct Node {
    std::int64_t cards = 0;
    Offer home = Offer::kPlugin, offer = Offer::kPlugin;
    bool home_cut = false, cut = false;
    struct {
      bool managed = false;  // by MIG Manager
      MigStep step = MigStep::kDone;
      bool wants_cut = false, shows_cut = false;
    } mig;
    bool changed = false;
    // Of the driver: the newest generation, what of it is published, and what it replaces.
    std::int64_t generation = 0, slice_count = 0;
    std::deque<Slice> to_publish;
    std::vector<Slice> published, old;
    std::set<DeviceId> tainted;
  };
  std::vector<DeviceId> all_of(const Node& node, bool cut) const;
  void publish(std::size_t i);       // begins a new generation
  bool publish_step(std::size_t i);  // false: there is nothing to do
  void withdraw(std::size_t i);      // deletes all slices
  bool mig_step(std::size_t i);
  void change_world(std::size_t i);
  bool is_held(std::size_t i) const;
  void hold(const std::string& node, const DeviceId& id, const std::string& holder);

  ApiObjects& objects_;
  sim::Rng& rng_;
  std::array<Node, kNodes> nodes_;
  std::map<std::string, std::map<DeviceId, std::string>> held_;  // by node: who has each
  std::map<std::string, std::string> channels_;                  // by node
  std::vector<std::string> complaints_;
  std::uint64_t serial_ = 0;
  bool healed_ = false;
  std::size_t mig_changes_ = 0;
  int quiet_changes_ = 3;  // that begin after heal()
};

}  // namespace subak::fault
