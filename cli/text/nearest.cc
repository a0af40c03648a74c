#include "cli/text/nearest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

namespace subak::cli {
namespace {

constexpr std::size_t kMostNames = 3;
constexpr std::size_t kMostLetters = 128;  // a longer word is no typing error

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Returns the number of letters to add, drop, change or swap with their neighbour to turn one into
// the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last.back();
}

}  // namespace

std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> found;
  const std::string wanted = lower(word);
  if (wanted.empty() || wanted.size() > kMostLetters) return {};
  const std::size_t most = std::max<std::size_t>(1, wanted.size() / 3);
  for (const std::string& name : known) {
    const std::string candidate = lower(name);
    const std::size_t longer = std::max(candidate.size(), wanted.size());
    if (longer - std::min(candidate.size(), wanted.size()) > most) continue;
    if (const std::size_t d = distance(wanted, candidate); d <= most) found.emplace_back(d, name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (const auto& [d, name] : found) {
    if (names.size() < kMostNames) names.push_back(name);
  }
  return names;
}

std::string did_you_mean(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text.empty() ? "" : "did you mean " + text + "?";
}

std::string some_of(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

}  // namespace subak::cli
