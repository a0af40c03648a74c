// Owners of pods that Subak suspended, in a random world (docs/design/0119). They wait, are edited,
// resumed, deleted and suspended again, and create pods. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/effect.h"
#include "model/input.h"

namespace subak::sim {

class RandomWorld;

class RandomOwners {
 public:
  // Returns the next input about some owner or its pods.
  in::Body some_event(RandomWorld& w);
  // Plans the reports of most suspended owners, as a part of a list.
  void plan_list(RandomWorld& w) const;
  // Reads the next effect of the engine.
  void saw(const Effect& effect);
  // True for the uid of an owner that is suspended.
  bool is_suspended(const std::string& owner) const;

 private:
  struct Owner {
    PodRecord pod;                 // as in::OwnerSeen::pod
    std::vector<PodGroup> groups;  // as in::OwnerSeen::groups
    std::uint32_t apart = 0;       // its further pods, each a job of its own
    bool suspended = true;
  };
  in::Body new_owner(RandomWorld& w);
  in::Body follow_effect(RandomWorld& w);
  static in::Body park_again(RandomWorld& w, Owner& owner);
  static in::Body resume(RandomWorld& w, Owner& owner);
  in::Body end_owner(RandomWorld& w, const std::string& uid);
  static in::Body bad_report(RandomWorld& w, const Owner& owner);
  static void change_template(RandomWorld& w, Owner& owner);
  static void make_groups(RandomWorld& w, Owner& owner);
  static void create_pods(RandomWorld& w, const Owner& owner);
  static void delete_pods(RandomWorld& w, const std::string& owner);
  static in::OwnerSeen say(const Owner& owner);

  std::map<std::string, Owner> owners_;  // by uid
  std::vector<Effect> effects_;          // those that name an owner, and that nobody followed yet
};

}  // namespace subak::sim
