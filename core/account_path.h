// Paths in the account tree: the account "ml.vision" is below "ml", and the user
// "ml.vision/ana.lee" is below "ml.vision". The root is "". The name of a user may have dots, so
// the first slash of a path ends the account.
// Threads: any; pure functions.
#pragma once

#include <string_view>

namespace subak {

// Returns the path of the account above; "" for an account below the root, and for the root. The
// result is a view into `path`.
inline std::string_view parent_path(std::string_view path) {
  const auto slash = path.find('/');
  const auto end = slash != std::string_view::npos ? slash : path.rfind('.');
  return path.substr(0, end == std::string_view::npos ? 0 : end);
}

// Returns true if `path` is `ancestor`, or below `ancestor`. Every path is within the root.
inline bool is_path_within(std::string_view path, std::string_view ancestor) {
  if (ancestor.empty() || path == ancestor) return true;
  return path.size() > ancestor.size() && path.starts_with(ancestor) &&
         (path[ancestor.size()] == '.' || path[ancestor.size()] == '/');
}

}  // namespace subak
