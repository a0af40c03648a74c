// The faults of a fault world (world.h). Each seed chooses its own few faults. With all faults in
// one world, little else would happen there, and a failure would be hard to explain.
#pragma once

#include <string>

#include "sim/read/rng.h"

namespace subak::fault {

struct Faults {
  // Faults of the reports of the cluster's edge.
  bool lose = false, repeat = false, reorder = false, delay = false;
  bool disconnect = false;   // the edge reconnects at any time, and then lists again
  bool vanish = false;       // ended pods are deleted while no edge watches
  bool second_edge = false;  // another edge takes over, and the first one continues
  // Faults of the effects that the edge gets.
  bool lose_effects = false, repeat_effects = false, delay_effects = false;
  // Faults of the service.
  bool slow_store = false, failing_store = false, crash = false, small_mailbox = false;
  bool slow_follower = false;
  bool clock = false;  // the wall clock jumps forward and back
  // Faults and events of the cluster and of users.
  bool nodes = false;    // nodes come, go, fall silent and lose GPUs
  bool foreign = false;  // pods run without Subak
  bool edits = false;    // edits of accounts, limits, modes and drains
  bool retries = false;  // users repeat requests

  static Faults draw(sim::Rng& rng);
  static Faults none() { return {}; }
  // True if no fault hides the exact begin and end of a pod from the service.
  bool exact_times() const {
    return !(lose || delay || reorder || vanish || clock || nodes || foreign || edits);
  }
  std::string text() const;
};

// Faults of replicas that share a database. A world with one process has none of them.
struct ReplicaFaults {
  bool sleep = false;  // a process is suspended for a while
  bool cut = false;    // one process cannot reach the database
  bool away = false;   // no process can reach the database
  bool kill = false;   // a process dies, perhaps during a commit
  bool stop = false;   // a process stops on request

  static ReplicaFaults draw(sim::Rng& rng);
  static ReplicaFaults all() { return {true, true, true, true, true}; }
  std::string text() const;
};

// Calls a function for each member with its name. This is the only list of the members.
template <class F, class V>
requires requires(F faults) { faults.sleep; }
void each_fault(F& faults, V visit) {
  visit("sleep", faults.sleep);
  visit("cut", faults.cut);
  visit("away", faults.away);
  visit("kill", faults.kill);
  visit("stop", faults.stop);
}
template <class F, class V>
requires requires(F faults) { faults.lose; }
void each_fault(F& faults, V visit) {
  visit("lose", faults.lose);
  visit("repeat", faults.repeat);
  visit("reorder", faults.reorder);
  visit("delay", faults.delay);
  visit("disconnect", faults.disconnect);
  visit("vanish", faults.vanish);
  visit("second_edge", faults.second_edge);
  visit("lose_effects", faults.lose_effects);
  visit("repeat_effects", faults.repeat_effects);
  visit("delay_effects", faults.delay_effects);
  visit("slow_store", faults.slow_store);
  visit("failing_store", faults.failing_store);
  visit("crash", faults.crash);
  visit("small_mailbox", faults.small_mailbox);
  visit("slow_follower", faults.slow_follower);
  visit("clock", faults.clock);
  visit("nodes", faults.nodes);
  visit("foreign", faults.foreign);
  visit("edits", faults.edits);
  visit("retries", faults.retries);
}

template <class F>
F draw_faults(sim::Rng& rng) {
  F faults;
  constexpr std::uint64_t kChances[] = {15, 40, 80};
  const std::uint64_t chance = kChances[rng.below(3)];
  each_fault(faults, [&](const char*, bool& on) { on = rng.percent(chance); });
  return faults;
}

template <class F>
std::string text_of_faults(const F& faults) {
  std::string out;
  each_fault(faults, [&](const char* name, bool on) {
    if (on) out += (out.empty() ? "" : " ") + std::string(name);
  });
  return out.empty() ? "none" : out;
}

inline Faults Faults::draw(sim::Rng& rng) { return draw_faults<Faults>(rng); }
inline std::string Faults::text() const { return text_of_faults(*this); }
inline ReplicaFaults ReplicaFaults::draw(sim::Rng& rng) { return draw_faults<ReplicaFaults>(rng); }
inline std::string ReplicaFaults::text() const { return text_of_faults(*this); }

}  // namespace subak::fault
