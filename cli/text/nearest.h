// Suggestions for an unknown name. Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace subak::cli {

// Returns the known names that differ from `word` only by a typing error: at most three, the best
// first. Case does not matter. Empty: no name is near enough.
std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& known);
// Returns "did you mean a, b or c?"; without names, an empty text.
std::string did_you_mean(const std::vector<std::string>& names);
// Returns "a, b, c", or "a, b and 7 more" if there are more than `most` names.
std::string some_of(const std::vector<std::string>& names, std::size_t most);

}  // namespace subak::cli
