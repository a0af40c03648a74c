// Parses the answers of an API server about many objects: the events of a watch, each one line of
// JSON, and the pages of a list. Formats: kubernetes/apimachinery pkg/apis/meta/v1 (WatchEvent,
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
  // The object. For kDeleted this is its last state, for kError the Status.
  json::Value object;
  // The version from which a watch may continue; empty for kError.
  std::string_view resource_version;
  // True for a bookmark which says that the complete list has been sent.
  bool list_complete = false;
  // The HTTP code of kError; 410: list again.
  std::int64_t code = 0;
};

// Returns a version as a number. Versions of objects of one cluster rise as objects change, across
// all kinds (KEP-5504; etcd's revision). 0: the version is not a number and has no order.
std::uint64_t version_number(std::string_view version);

// Reads events from bytes, which may come in chunks of any size.
class WatchStream {
 public:
  // Gets one event, which is valid only during the call.
  using Take = std::function<void(const WatchEvent&)>;

  // Calls `take` for each event that these bytes complete, in order. An error means that a line is
  // longer than limits::kMaxWatchLineBytes or is not an event. It ends the stream and drops the
  // following bytes.
  std::optional<Error> feed(std::string_view bytes, const Take& take);
  // True if the bytes so far end with a complete event, so that the stream may end here.
  bool between_events() const { return line_.empty(); }

 private:
  // Reads one complete line, without its end.
  std::optional<Error> take_line(std::string_view line, const Take& take);

  // The beginning of a line whose end has not arrived.
  std::string line_;
  json::Parser parser_;
};

// One page of a list. It points into the document.
struct ListPage {
  // The version from which the watch begins.
  std::string_view resource_version;
  // The token of the next page; empty: this is the last one.
  std::string_view next;
  // None: the list is empty.
  std::optional<json::Value> items;
};
// Reads a page of any kind of objects. kInvalid: it is not a list.
Result<ListPage> read_list_page(json::Value list);

}  // namespace subak
