// Shortens a list of names for a message. Threads: any; pure function.
#pragma once

#include <cstddef>
#include <string>

namespace subak::cli {

// Returns "a, b, c and 4 more". Empty: the range is empty.
template <class Range>
std::string some(const Range& names) {
  constexpr std::size_t kShown = 3;
  std::string out;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown == kShown) {
      return out + " and " + std::to_string(names.size() - kShown) + " more";
    }
    out += (shown++ == 0 ? "" : ", ") + name;
  }
  return out;
}

}  // namespace subak::cli
