// The discovery answers of a simulated API server: it serves JobSet and LeaderWorkerSet only.
#pragma once

#include <algorithm>
#include <string>

#include "kube/owners/kinds.h"

namespace subak {

// True for "/apis/GROUP/VERSION".
inline bool is_discovery(const std::string& path) {
  return path.starts_with("/apis/") && std::count(path.begin(), path.end(), '/') == 3;
}

// Returns the kinds of a version of a group, as JSON. Empty: none; the server must answer 404.
inline std::string served_kinds(const std::string& path) {
  for (const OwnerKindRow& row : owner_kinds()) {
    const std::string collection = collection_of(row, row.versions.front());
    if (row.watch != OwnerWatch::kUnlessAbsent || !collection.starts_with(path + "/")) continue;
    return R"({"kind":"APIResourceList","resources":[{"name":")" + std::string(row.plural) +
           R"(","kind":")" + std::string(row.name) +
           R"(","verbs":["get","list","watch","patch"]}]})";
  }
  return {};
}

}  // namespace subak
