// Runs a fuzz target without libFuzzer: each file of the given folders, and some thousand seeded
// mutations of them. `NAME FOLDER...`
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kMutations = 5000;

void run(const std::string& s) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(s.data()), s.size());
}

// Overwrites, deletes or doubles a short range, or puts in a byte that matters to JSON.
void mutate(std::string& s, std::mt19937_64& random) {
  constexpr char kSharp[] = "{}[]\",:\\0129-.eE/~ntf\x00\xff";
  const std::size_t at = s.empty() ? 0 : random() % s.size();
  const std::size_t length = 1 + random() % 16;
  switch (random() % 4) {
    case 0:
      if (!s.empty()) s[at] = static_cast<char>(random());
      break;
    case 1:
      s.erase(at, length);
      break;
    case 2:
      s.insert(at, s.substr(at, length));
      break;
    default:
      s.insert(at, 1, kSharp[random() % (sizeof kSharp - 1)]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> seeds;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& e : std::filesystem::directory_iterator(argv[i]))
      if (e.is_regular_file()) files.push_back(e.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    run(seeds.back());
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "no seeds in the given folders\n");
    return 1;
  }
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kMutations; ++i) {
    std::string s = seeds[i % seeds.size()];
    if (random() % 4 == 0) s.resize(random() % (s.size() + 1));
    for (std::size_t changes = 1 + random() % 8; changes > 0; --changes) mutate(s, random);
    run(s);
  }
  std::printf("%zu seeds and %zu mutations of them\n", seeds.size(), kMutations);
  return 0;
}
