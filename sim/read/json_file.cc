#include "sim/read/json_file.h"

#include <array>
#include <boost/json.hpp>
#include <fstream>

namespace subak::sim {

Result<std::string> read_json_text(const std::string& path, std::size_t most_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, path, "", "a JSON file that can be read"};
  std::string text;
  std::array<char, 65'536> part;
  while (file.read(part.data(), part.size()), file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > most_bytes) {
      return Error{ErrorCode::kInvalid, path, "larger",
                   "at most " + std::to_string(most_bytes) + " bytes"};
    }
  }
  return text;
}

Result<boost::json::value> read_json_file(const std::string& path, std::size_t most_bytes,
                                          const std::string& want) {
  const Result<std::string> text = read_json_text(path, most_bytes);
  if (!text.ok()) return text.error();
  boost::system::error_code code;
  boost::json::value value = boost::json::parse(*text, code);
  if (code) return Error{ErrorCode::kInvalid, path, code.message(), want};
  return value;
}

}  // namespace subak::sim
