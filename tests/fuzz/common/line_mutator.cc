// Mutations for inputs that are lines of words: whole lines move, and words and numbers are
// exchanged for others of the same input, so that names keep meeting each other. Else what
// libFuzzer does to any bytes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Random = std::minstd_rand;
constexpr std::array<std::string_view, 20> kSharp{
    "0",     "1",     "-1",       "2",          "4",
    "7",     "8",     "9",        "63",         "64",
    "65",    "999",   "1000",     "1001",       "8000",
    "60000", "86400", "86400000", "2147483647", "9223372036854775807"};
constexpr std::string_view kBetween = " \"{}:\n";

std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : random() % n; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The place of a word at or behind a random place; empty if there is none.
std::pair<std::size_t, std::size_t> word(const std::string& text, Random& random) {
  const std::size_t begin = text.find_first_not_of(kBetween, below(random, text.size()));
  if (begin == std::string::npos) return {text.size(), 0};
  return {begin, std::min(text.find_first_of(kBetween, begin), text.size()) - begin};
}

void change_lines(std::vector<std::string>& lines, Random& random) {
  const std::size_t at = below(random, lines.size());
  const auto place = lines.begin() + static_cast<std::ptrdiff_t>(below(random, lines.size() + 1));
  switch (random() % 5) {
    case 0:
      if (lines.size() > 1) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      lines.insert(place, std::string(lines[at]));
      break;
    case 2:
      std::swap(lines[at], lines[below(random, lines.size())]);
      break;
    case 3:
      lines.insert(place, "pass");
      break;
    default:
      lines.insert(place, "wait " + std::string(kSharp[random() % kSharp.size()]));
  }
}

std::string changed(const std::string& text, Random& random) {
  std::string out = text;
  if (random() % 2 == 0) {
    std::vector<std::string> lines = lines_of(text);
    change_lines(lines, random);
    out.clear();
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }
  const auto [from, from_size] = word(text, random);
  const auto [to, to_size] = word(text, random);
  const bool number = to_size > 0 && text.find_first_not_of("-0123456789", to) >= to + to_size;
  out.replace(to, to_size,
              number && random() % 2 == 0 ? std::string(kSharp[random() % kSharp.size()])
                                          : text.substr(from, from_size));
  return out;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned int seed) {
  Random random(seed);
  if (size == 0 || random() % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (std::size_t i = 1 + random() % 3; i > 0 && !text.empty(); --i) text = changed(text, random);
  const std::size_t result = std::min(text.size(), most);
  std::memcpy(data, text.data(), result);
  return result;
}
