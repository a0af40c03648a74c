// Tracks parked owners: Jobs and other objects that Subak has suspended until their turn, so that
// their pods do not exist while they wait (docs/design/0119). The turn comes when the core, the
// engine that decides, has GPUs for them. ParkedOwners stores which owners the core knows, and
// which must be resumed without a turn.
// Threads: one at a time; OwnerCache owns the object.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/limits.h"
#include "kube/owner.h"
#include "model/input.h"

namespace subak {

// The parked owners of one cluster.
class ParkedOwners {
 public:
  // The state of an owner in the cache.
  struct Owner {
    // nullptr: the owner does not exist.
    const std::string* ns = nullptr;
    const std::string* name = nullptr;
    // The person who made the owner (OwnerCache::maker_of()).
    std::string user;
    // The pods that it would create, if it has the mark names::kParked and can wait suspended. Else
    // nullptr.
    const ParkedPods* pods = nullptr;
    // The owner is suspended, by Subak or by another client.
    bool suspended = false;
    // The owner has the mark names::kParked.
    bool marked = false;
    // The owner has ended.
    bool ended = false;
  };

  // Forgets which owners the core knows. Call it when a session begins.
  void forget_told() { told_.clear(); }
  // Forgets that the core knows this owner, so that look() returns the owner again.
  void forget_told(const std::string& uid) { told_.erase(uid); }

  // Looks at an owner that was seen, changed or deleted. Returns the input for the core; nullopt:
  // the core knows it already, or need not know it.
  std::optional<in::OwnerSeen> look(const std::string& cluster, const std::string& uid,
                                    const Owner& owner);
  // Returns the owners that the core knows as parked.
  std::vector<std::string> told() const;

  // Records that a pod of this owner exists. If the owner is parked, its controller ignores the
  // suspension since `monotonic_ms`, or since an earlier call.
  void see_pod(const std::string& uid, std::int64_t monotonic_ms);
  // Says that the owner must not wait suspended any more. must_resume() then returns `why`, a text
  // for people.
  void resume(const std::string& uid, const std::string& why);
  // Resumes the owners that have had pods for limits::kIgnoredSuspendMs although they are parked.
  // `still` returns true if the owner still has pods. resume_ignored() returns true if it resumed
  // an owner.
  template <class Still>
  bool resume_ignored(std::int64_t monotonic_ms, Still&& still);
  // Returns why the owner must be resumed without a turn; nullptr: it may wait.
  const std::string* must_resume(const std::string& uid) const;
  // Returns all such owners, with why, by uid.
  const std::map<std::string, std::string>& to_resume() const { return resume_; }
  // True if the owner was parked more than limits::kMaxParkings times, so that Subak has given it
  // up. Subak then treats the suspension as one that the owner's user made.
  bool is_given_up(const std::string& uid) const;
  // Takes out the owners that were given up since the last call.
  std::vector<std::string> take_given_up();

 private:
  // How often an owner was parked, as far as this process has seen.
  struct History {
    std::uint32_t times = 0;
    bool parked = false;
  };

  // The digest of the last report of each owner that the core knows as parked.
  std::map<std::string, std::uint64_t> told_;
  std::map<std::string, History> history_;
  // Parked owners with pods, and since when, by the monotonic clock.
  std::map<std::string, std::int64_t> with_pods_;
  std::map<std::string, std::string> resume_;
  std::vector<std::string> given_up_;
};

template <class Still>
bool ParkedOwners::resume_ignored(std::int64_t monotonic_ms, Still&& still) {
  bool any = false;
  for (auto it = with_pods_.begin(); it != with_pods_.end();) {
    const bool has_pods = still(it->first);
    const bool due = has_pods && monotonic_ms - it->second >= limits::kIgnoredSuspendMs;
    if (due) resume(it->first, "its controller created pods although it is suspended");
    any = any || due;
    it = due || !has_pods ? with_pods_.erase(it) : std::next(it);
  }
  return any;
}

}  // namespace subak
