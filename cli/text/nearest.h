// Suggestions for an unknown name. Threads: none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace subak::cli {

// Returns the known names that differ from `word` by a typing error: best first, at most three,
// without regard to case. Empty if no name is near enough.
std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& known);
// Returns "did you mean a, b or c?"; empty for none.
std::string did_you_mean(const std::vector<std::string>& names);
// Returns "a, b, c", and "... and 7 more" beyond `most`.
std::string some_of(const std::vector<std::string>& names, std::size_t most);

}  // namespace subak::cli
