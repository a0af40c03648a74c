// A temporary directory for one test, removed at the end, and the paths of the shared test data.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace subak::sim {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "subak-sim-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
  }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::string path_;
};

// Returns the folder in an environment variable, or else `beside`, relative to the source root.
inline std::string data_dir(const char* variable, const char* beside) {
  const char* const set = std::getenv(variable);
  return set ? set : beside;
}
inline std::string traces_dir() { return data_dir("SUBAK_TRACES", "../shared/traces"); }
inline std::string golden_dir() { return data_dir("SUBAK_GOLDEN", "../shared/golden"); }

#define SUBAK_NEED_DATA(dir) \
  if (!std::filesystem::exists(dir)) GTEST_SKIP() << "needs the data folder " << (dir)

}  // namespace subak::sim
