#include "server/store/file/whole_file.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "server/store/file/copy.h"
#include "server/store/file/refusals.h"
#include "server/store/file/row_sum.h"

namespace subak {
namespace {

constexpr std::size_t kSumBytes = 4;

std::string sum_text(std::uint32_t seed, std::string_view bytes) {
  const std::uint32_t sum = RowSum(seed).add(bytes).value();
  std::string out;
  for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(sum >> shift);
  return out;
}

}  // namespace

std::optional<Error> write_whole_file(const std::string& path, std::string_view bytes) {
  const std::string draft = path + ".new";
  std::ofstream out(draft, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  if (!out) return refuse_store(draft, "not written", "want a folder that can be written");
  if (auto error = sync_file(draft)) return error;
  if (std::rename(draft.c_str(), path.c_str()) == 0) return sync_file(path);
  return refuse_store(path, "not replaced", "want a file that can be replaced");
}

std::optional<Error> write_summed_file(const std::string& path, const SummedKind& kind,
                                       std::uint32_t seed, std::string_view bytes) {
  if (bytes.size() > kind.most_bytes) {
    return refuse_store(path, std::to_string(bytes.size()) + " bytes",
                        "want at most " + std::to_string(kind.most_bytes));
  }
  std::string text(kind.first_line);
  text += sum_text(seed, bytes);
  text += bytes;
  return write_whole_file(path, text);
}

Result<std::string> read_summed_file(const std::string& path, const SummedKind& kind,
                                     std::uint32_t seed) {
  const std::int64_t size = file_size(path);
  if (size < 0) return std::string();
  const std::size_t head = kind.first_line.size() + kSumBytes;
  if (static_cast<std::size_t>(size) > head + kind.most_bytes) {
    return refuse_store(path, std::to_string(size) + " bytes", "want what was written");
  }
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const bool ours = all.size() >= head && all.starts_with(kind.first_line);
  if (!ours) return refuse_store(path, "not a file of this kind", "want what was written");
  std::string bytes = all.substr(head);
  if (all.substr(kind.first_line.size(), kSumBytes) == sum_text(seed, bytes)) return bytes;
  return refuse_store(path, "its checksum differs", "want a file that this store has written");
}

}  // namespace subak
