// Parses what an API server sends of many objects: the events of a watch, one line of JSON each,
// and the pages of a list. Formats: kubernetes/apimachinery pkg/apis/meta/v1 (WatchEvent,
// ListMeta), bookmarks by KEP-956, the end of a streamed list by KEP-3157. Threads: one for each
// stream.
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

// One event. It points into the stream's document, which the next event overwrites.
struct WatchEvent {
  WatchKind kind = WatchKind::kError;
  // The object; at kDeleted its last state, at kError the Status.
  json::Value object;
  // Where a watch may continue; empty at kError.
  std::string_view resource_version;
  // True at a bookmark that says that the complete list has been sent.
  bool list_complete = false;
  // The HTTP code of kError; 410: list again.
  std::int64_t code = 0;
};

// Returns a version as a number. Versions of objects of one cluster rise as objects change, across
// all kinds (KEP-5504; etcd's revision). 0: the version is not a number and has no order.
std::uint64_t version_number(std::string_view version);

// Turns bytes into events. Chunks may end anywhere.
class WatchStream {
 public:
  // Gets one event, which is valid only during the call.
  using Take = std::function<void(const WatchEvent&)>;

  // Calls `take` for each event that these bytes complete, in order. An error ends the stream and
  // drops its rest: a line over limits::kMaxWatchLineBytes, or one that is not an event.
  std::optional<Error> feed(std::string_view bytes, const Take& take);
  // True if no part of an event is left, so that the stream may end here.
  bool between_events() const { return line_.empty(); }

 private:
  // Reads one complete line, without its end.
  std::optional<Error> take_line(std::string_view line, const Take& take);

  // The line so far, whose end has not come.
  std::string line_;
  json::Parser parser_;
};

// One page of a list. It points into the document.
struct ListPage {
  // Where the watch begins.
  std::string_view resource_version;
  // The token of the next page; empty: this is the last one.
  std::string_view next;
  // None: the list is empty.
  std::optional<json::Value> items;
};
// Reads a page of any kind of objects. kInvalid: it is not a list.
Result<ListPage> read_list_page(json::Value list);

}  // namespace subak
