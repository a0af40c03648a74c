// Plays the GPUs of nodes in a fault world (kube_world.h). A node offers them by the device plugin,
// or by ResourceSlices of a DRA driver. MIG Manager may cut them into slices. Also records which
// pod or ResourceClaim has which device.
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

// A deliberate mistake of the simulated cluster. Tests check that the judges find it.
enum class Plant : std::uint8_t {
  kNothing,
  kGivesTwice,       // the scheduler gives a device to two holders
  kDoublesPool,      // a driver publishes each device in two pools
  kLosesTemplate,    // a ComputeDomain's template vanishes without an event
  kForgetsDeletion,  // the API server deletes no ComputeDomain
  kLosesDomain,      // the API server loses the ComputeDomains that it made
  kHidesMig,         // nodes lack the labels of MIG Manager
};

enum class Offer : std::uint8_t { kNothing, kPlugin, kClaims };

// How far MIG Manager is with a change of a node. kAsked: the label names another configuration,
// and MIG Manager has not begun. kLabelled: its state is success, but the kubelet still reports the
// devices of before.
enum class MigStep : std::uint8_t { kDone, kAsked, kPending, kRebooting, kLabelled, kFailed };

class PlayedDevices {
 public:
  static constexpr std::size_t kNodes = 9;

  PlayedDevices(ApiObjects& objects, sim::Rng& rng);

  // Convert a node's number, its index in nodes_, to its name and back.
  static std::string name_of(std::size_t i) { return "n" + std::to_string(i); }
  static std::size_t index_of(const std::string& node) { return std::stoul(node.substr(1)); }

  // Sets the labels and resources in the object of this node.
  void write(std::size_t i, Object& node);
  // True if the node has changed since write(), so that its object is outdated. Resets this.
  bool take_changed(std::size_t i) { return std::exchange(nodes_[i].changed, false); }
  void node_back(std::size_t i);
  void node_gone(std::size_t i);

  // Makes one random event: a driver publishes slices, a node changes between device plugin and DRA
  // driver, or MIG Manager does a step. `there`: the numbers of the nodes that exist.
  void act(const std::set<std::size_t>& there);
  // Continues each change that has begun by one step for each node. False: there was none.
  bool progress(const std::set<std::size_t>& there);
  // Ends the faults. From now on, progress() brings each node back to its first way to offer GPUs.
  void heal();

  // Returns the free devices that the node offers to claims (`claimed`) or to pods by the plugin:
  // cards, or MIG slices.
  std::vector<DeviceId> free(const std::string& node, bool claimed, bool slices) const;
  // Gives `count` such devices to the holder, the uid of a pod or claim. False: there are fewer.
  bool take(const std::string& node, bool claimed, bool slices, std::size_t count,
            const std::string& holder);
  void give_back(const std::string& holder);
  // Returns the most cards or MIG slices that the node can ever offer.
  std::int64_t most(const std::string& node, bool slices) const;
  // True while, by the node's labels, MIG Manager changes the node.
  bool is_changing(std::size_t i) const;
  // Returns how many cards or MIG slices the node's objects offer now. A reader that has seen all
  // events must count as many.
  std::int64_t offered(std::size_t i, bool slices) const;
  bool has_channel(const std::string& node) const;
  // Gives the node's channel of a ComputeDomain to the holder.
  bool take_channel(const std::string& node, const std::string& holder);

  // Returns each case in which two holders had one device; empty: none.
  const std::vector<std::string>& complaints() const { return complaints_; }
  // True if the node's DRA driver has published all its slices and withdrawn all outdated ones.
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
    // For the DRA driver: the newest generation of its pool, its slices, and those that they
    // replace.
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
  std::map<std::string, std::map<DeviceId, std::string>> held_;  // by node: the holder of each
  std::map<std::string, std::string> channels_;                  // by node
  std::vector<std::string> complaints_;
  std::uint64_t serial_ = 0;
  bool healed_ = false;
  std::size_t mig_changes_ = 0;
  int quiet_changes_ = 3;  // changes of MIG Manager still to begin
};

}  // namespace subak::fault
