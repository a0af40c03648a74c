// The objects of a simulated API server as JSON, its answers to calls, and the changes for watches.
// It checks no schemas. Patches, preconditions and pages work as in the real API server. It makes
// no faults by itself: fake_api.h makes those of the connection. A test can plant the faults below.
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
// Returns the value at this path of keys; nullptr: there is none.
const json_out::value* find_at(const Object& object, Keys keys);
// Returns the text at this path; empty: there is no text.
std::string text_at(const Object& object, Keys keys);
std::string text_at(const json_out::value& value, Keys keys);

class ApiObjects {
 public:
  struct Change {
    std::uint64_t version = 0;
    std::string collection, line;  // `line`: the event as a watch sends it
  };
  struct Answered {
    int code = 200;
    std::string body;
  };
  using Objects = std::map<std::string, Object>;  // by "namespace/name"
  // Called before a PATCH takes effect, with the object before and after it.
  using Wrote =
      std::function<void(const std::string& collection, const Object& before, const Object& after)>;
  // Called for an eviction of a pod, "namespace/name". It must end the pod.
  using Evict = std::function<void(const std::string& key)>;
  // Called after a POST made an object, or before a DELETE removes one.
  using Made = std::function<void(const std::string& collection, const Object& object)>;

  Answered serve(const KubeCall& call);
  // Planted: a patch that marks a pod as kept closed is answered, but not carried out.
  bool forgets_marks = false;
  Wrote wrote;
  Evict evict;
  Made made = nullptr, deleting = nullptr;
  // Planted: a DELETE is answered, but not carried out; an object of a POST is lost at once.
  bool forgets_deletions = false, loses_made = false;
  // True while serve() carries out a call whose caller is gone.
  bool is_late = false;

  // --- for the simulated cluster, which changes objects without calls
  Objects& all(const std::string& collection) { return objects_[collection]; }
  Object* find(const std::string& collection, const std::string& key);
  // Adds the object with a new uid, and a new version. Returns the uid.
  std::string create(const std::string& collection, Object object);
  void changed(const std::string& collection, const std::string& key);
  void remove(const std::string& collection, const std::string& key);
  // Deletes as a DELETE does: an object with finalizers stays, with a deletionTimestamp.
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
  std::map<std::string, std::vector<std::string>> pages_;  // by token: objects of later pages
  std::uint64_t version_ = 1, oldest_ = 0, serial_ = 0;
};

// without_words() returns the object without its version, without the edge's texts for people (an
// annotation and a condition), and without the mark that keeps a pod closed. without_ours() also
// removes all other fields that an edge may write.
Object without_words(Object object);
Object without_ours(Object object);

}  // namespace subak::fault
