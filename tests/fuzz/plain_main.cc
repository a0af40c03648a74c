// Runs a fuzz target without libFuzzer: each file of the given folders, every prefix of it in
// steps, and some thousand seeded mutations. `NAME FOLDER... [-n MUTATIONS_PER_FILE]`
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

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
  std::vector<std::filesystem::path> files;
  int mutations = 200;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
      mutations = std::atoi(argv[++i]);
      continue;
    }
    for (const auto& e : std::filesystem::directory_iterator(argv[i])) files.push_back(e.path());
  }
  std::sort(files.begin(), files.end());
  std::mt19937_64 random(1);
  std::size_t runs = 0;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    for (std::size_t n = 0; n < whole.size(); n += 1 + whole.size() / 64, ++runs) {
      run(whole.substr(0, n));
    }
    for (int i = 0; i <= mutations; ++i, ++runs) {
      std::string s = whole;
      for (int m = 0; m < i % 8; ++m) mutate(s, random);
      run(s);
    }
  }
  std::printf("%zu inputs from %zu files\n", runs, files.size());
  return files.empty() ? 1 : 0;
}
