// What somebody may have meant by a name that is not there. Threads: none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace subak::cli {

// The known names that are a slip of the fingers away from `word`: best first, at most three, upper
// and lower case alike. Empty if nothing is near enough to be meant.
std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& known);
// "did you mean a, b or c?"; empty for none.
std::string did_you_mean(const std::vector<std::string>& names);
// "a, b, c", and "... and 7 more" beyond `most`.
std::string some_of(const std::vector<std::string>& names, std::size_t most);

}  // namespace subak::cli
