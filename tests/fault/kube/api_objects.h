// The objects of a simulated API server as JSON, with a version for each change, and its answers to
// calls and watches. It does not check schemas. Patches, preconditions and pages work as in the
// real API server. It makes no faults by itself (fake_api.h does).
// Threads: one at a time.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/edge/client/client.h"

namespace subak::fault {

namespace json_out = boost::json;
using Object = json_out::object;

inline constexpr const char* kPods = "/api/v1/pods";
inline constexpr const char* kNodesOf = "/api/v1/nodes";
inline constexpr const char* kJobs = "/apis/batch/v1/jobs";

using Keys = std::initializer_list<const char*>;
// What is at these keys; nullptr: nothing.
const json_out::value* find_at(const Object& object, Keys keys);
// The text there; empty: none.
std::string text_at(const Object& object, Keys keys);
std::string text_at(const json_out::value& value, Keys keys);

class ApiObjects {
 public:
  struct Change {
    std::uint64_t version = 0;
    std::string collection, line;  // of a watch
  };
  struct Answered {
    int code = 200;
    std::string body;
  };
  using Objects = std::map<std::string, Object>;  // by "namespace/name"
  // A write of a caller that is about to be made: the object before and after it.
  using Wrote =
      std::function<void(const std::string& collection, const Object& before, const Object& after)>;
  // An eviction; true: the pod may go.
  using Evict = std::function<void(const std::string& key)>;
  // A caller makes an object, or asks for its deletion.
  using Made = std::function<void(const std::string& collection, const Object& object)>;

  Answered serve(const KubeCall& call);
  // Planted: a mark on a pod that is to be kept closed is answered as if it had been made.
  bool forgets_marks = false;
  Wrote wrote;
  Evict evict;
  Made made = nullptr, deleting = nullptr;
  // Planted: a deletion is answered as if it had been done, and what was made is lost at once.
  bool forgets_deletions = false, loses_made = false;
  // The call that is served has no caller any more.
  bool is_late = false;

  // --- for the cluster itself
  Objects& all(const std::string& collection) { return objects_[collection]; }
  Object* find(const std::string& collection, const std::string& key);
  // Gives it uid (if it has none) and version.
  std::string create(const std::string& collection, Object object);
  void changed(const std::string& collection, const std::string& key);
  void remove(const std::string& collection, const std::string& key);
  // As by a DELETE: what has finalizers stays, with the mark that it is going.
  void mark_deleted(const std::string& collection, const std::string& key);

  // --- for watches
  std::vector<std::string> initial(const std::string& collection) const;
  const std::vector<Change>& changes() const { return changes_; }
  std::uint64_t version() const { return version_; }
  std::uint64_t oldest() const { return oldest_; }
  void expire() { oldest_ = version_, pages_.clear(); }

 private:
  Answered list(const std::string& collection, const std::string& query);
  Answered patch(const std::string& collection, const std::string& key, const KubeCall& call);
  Answered evicted(const std::string& key, const KubeCall& call);
  Answered post(const std::string& collection, const std::string& ns, const KubeCall& call);
  Answered deleted(const std::string& collection, const std::string& key, const KubeCall& call);
  void tell(const char* kind, const std::string& collection, Object& object);

  std::map<std::string, Objects> objects_;
  std::vector<Change> changes_;
  std::map<std::string, std::vector<std::string>> pages_;  // by token: what is still to come
  std::uint64_t version_ = 1, oldest_ = 0, serial_ = 0;
};

// The object without what people read of a pod that waits (the annotation that says so, and our
// condition), without the mark of one that is kept closed and without its version; and without anything that
// an edge may write.
Object without_words(Object object);
Object without_ours(Object object);

}  // namespace subak::fault
