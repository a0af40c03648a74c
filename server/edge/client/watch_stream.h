// Parses the answers of an API server about many objects: the events of a watch, each of which is
// one line of JSON, and the pages of a list. kubernetes/apimachinery pkg/apis/meta/v1 defines the
// formats (WatchEvent, ListMeta), KEP-956 the bookmarks, and KEP-3157 the end of a streamed list.
// Threads: one at a time for each stream.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "kube/json.h"

namespace subak {

// The kind of an event, as the API server writes it.
enum class WatchKind : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };
template <>
struct EnumText<WatchKind> {
  static constexpr std::array<std::string_view, 5> names{"ADDED", "MODIFIED", "DELETED", "BOOKMARK",
                                                         "ERROR"};
};

// One event. The event points into the stream's JSON document, which the next event overwrites.
struct WatchEvent {
  WatchKind kind = WatchKind::kError;
  // The object. For kDeleted, this is the last state of the object; for kError, it is the Status.
  json::Value object;
  // The resource version from which a watch may continue after this event; empty for kError.
  std::string_view resource_version;
  // True for a bookmark that says that the server has sent the complete list.
  bool list_complete = false;
  // For kError: its HTTP code. 410 means that the objects must be listed again.
  std::int64_t code = 0;
};

// Returns a resource version as a number. In one cluster, each change of an object of any kind gets
// a larger number (KEP-5504; it is etcd's revision). 0: the version is not a number, so it cannot
// be compared.
std::uint64_t version_number(std::string_view version);
// Returns "namespace/name", which identifies an object of one kind in a cluster.
std::string namespaced_name(std::string_view ns, std::string_view name);
// Returns the namespaced name of an object, from its metadata.
std::string namespaced_name_of(json::Value object);

// Reads events from bytes, which may come in chunks of any size.
class WatchStream {
 public:
  // Gets one event, which is valid only during the call.
  using Take = std::function<void(const WatchEvent&)>;

  // Calls `take` for each event that these bytes complete, in order. An error means that a line is
  // longer than limits::kMaxWatchLineBytes, or is not an event. The stream ends with this error,
  // and the bytes after that line are dropped.
  std::optional<Error> feed(std::string_view bytes, const Take& take);
  // True if the bytes so far end with a complete event, so that the stream may end here without a
  // loss.
  bool between_events() const { return line_.empty(); }

 private:
  // Reads one complete line, without its end.
  std::optional<Error> take_line(std::string_view line, const Take& take);

  // The first part of a line whose end has not arrived yet.
  std::string line_;
  json::Parser parser_;
};

// One page of a list. The page points into the JSON document of the answer.
struct ListPage {
  // The resource version from which the watch after the list begins.
  std::string_view resource_version;
  // The token of the next page; empty: this page is the last one.
  std::string_view next;
  // The objects of the page; nullopt: the list is empty.
  std::optional<json::Value> items;
};
// Reads a page of a list of any kind of objects. kInvalid: the value is not a list.
Result<ListPage> read_list_page(json::Value list);

}  // namespace subak
