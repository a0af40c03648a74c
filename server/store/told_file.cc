#include "server/store/told_file.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "core/limits.h"
#include "server/store/checks.h"
#include "server/store/copy.h"
#include "server/store/row_sum.h"

namespace subak {
namespace {

constexpr std::string_view kFirstLine = "subak told starts 1\n";
constexpr std::size_t kSumBytes = 4;

std::string sum_text(std::uint32_t seed, std::string_view bytes) {
  const std::uint32_t sum = RowSum(seed).add(bytes).value();
  std::string out;
  for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(sum >> shift);
  return out;
}

}  // namespace

std::optional<Error> write_told_file(const std::string& path, std::uint32_t seed,
                                     std::string_view bytes) {
  const std::string draft = path + ".new";
  std::ofstream out(draft, std::ios::binary | std::ios::trunc);
  out << kFirstLine << sum_text(seed, bytes) << bytes;
  out.close();
  if (!out) return refuse_store(draft, "not written", "want a disk that can be written");
  if (auto error = sync_file(draft)) return error;
  if (std::rename(draft.c_str(), path.c_str()) == 0) return std::nullopt;
  return refuse_store(path, "not replaced", "want a file that can be replaced");
}

Result<std::string> read_told_file(const std::string& path, std::uint32_t seed) {
  const std::int64_t size = file_size(path);
  if (size < 0) return std::string();
  constexpr std::size_t kHead = kFirstLine.size() + kSumBytes;
  if (static_cast<std::size_t>(size) > kHead + limits::kMaxFactBytes) {
    return refuse_store(path, std::to_string(size) + " bytes", "want what was written");
  }
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const bool ours = all.size() >= kHead && all.starts_with(kFirstLine);
  if (!ours) return refuse_store(path, "not a file of told starts", "want what was written");
  std::string bytes = all.substr(kHead);
  if (all.substr(kFirstLine.size(), kSumBytes) == sum_text(seed, bytes)) return bytes;
  return refuse_store(path, "another sum than its bytes have", "want what this store has written");
}

}  // namespace subak
