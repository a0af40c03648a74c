#include "server/edge/client/watch_stream.h"

#include <charconv>
#include <utility>

#include "core/error.h"
#include "core/limits.h"

namespace subak {
namespace {

Error bad_event(std::string field, std::string_view got, std::string want) {
  return {ErrorCode::kInvalid, std::move(field), cut_text(got), std::move(want)};
}

void read_metadata(json::Value object, WatchEvent& event) {
  const auto metadata = json::member(object, "metadata");
  if (!metadata) return;
  event.resource_version = json::text(*metadata, "resourceVersion");
  if (event.kind != WatchKind::kBookmark) return;
  const auto annotations = json::member(*metadata, "annotations");
  event.list_complete =
      annotations && json::text(*annotations, "k8s.io/initial-events-end") == "true";
}

}  // namespace

std::string namespaced_name_of(json::Value object) {
  return namespaced_name(json::text_in(object, "metadata", "namespace"),
                         json::text_in(object, "metadata", "name"));
}

std::string namespaced_name(std::string_view ns, std::string_view name) {
  return std::string(ns) + "/" + std::string(name);
}

std::uint64_t version_number(std::string_view version) {
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(version.data(), version.data() + version.size(), number);
  return error == std::errc() && end == version.data() + version.size() ? number : 0;
}

std::optional<Error> WatchStream::feed(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > limits::kMaxWatchLineBytes) {
      line_.clear();
      return bad_event(
          "event", "",
          "want at most " + std::to_string(limits::kMaxWatchLineBytes) + " bytes in a line");
    }
    if (end == std::string_view::npos) {
      line_ += part;
      return std::nullopt;
    }
    bytes.remove_prefix(end + 1);
    std::string begun = std::exchange(line_, {});
    const std::string_view line = begun.empty() ? part : begun += part;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (auto error = take_line(line, take)) return error;
  }
  return std::nullopt;
}

std::optional<Error> WatchStream::take_line(std::string_view line, const Take& take) {
  json::Value root;
  if (parser_.parse(line).get(root) != simdjson::SUCCESS) {
    return bad_event("event", line, "want an event of a watch in JSON");
  }
  const auto kind = enum_from<WatchKind>(json::text(root, "type"));
  const auto object = json::member(root, "object");
  if (!kind) {
    return bad_event("type", json::text(root, "type"),
                     "want ADDED, MODIFIED, DELETED, BOOKMARK or ERROR");
  }
  if (!object || !json::is_object(*object)) return bad_event("object", "", "want an object");
  WatchEvent event;
  event.kind = *kind;
  event.object = *object;
  if (event.kind != WatchKind::kError) {
    read_metadata(*object, event);
    if (event.resource_version.empty()) {
      return bad_event("object.metadata.resourceVersion", "", "want the version of the object");
    }
  } else if (const auto code = json::member(*object, "code")) {
    event.code = json::integer(*code);
  }
  take(event);
  return std::nullopt;
}

Result<ListPage> read_list_page(json::Value list) {
  ListPage page;
  const auto metadata = json::member(list, "metadata");
  if (!metadata) return bad_event("metadata", "", "want a list");
  page.resource_version = json::text(*metadata, "resourceVersion");
  if (page.resource_version.empty()) {
    return bad_event("metadata.resourceVersion", "", "want the version of the list");
  }
  page.next = json::text(*metadata, "continue");
  page.items = json::member(list, "items");
  if (page.items && !page.items->is_array())
    return bad_event("items", "", "want a list of objects");
  return page;
}

}  // namespace subak
