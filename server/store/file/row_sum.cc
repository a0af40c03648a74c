#include "server/store/file/row_sum.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>

namespace subak {
namespace {

// The library takes writable bytes and an int.
std::uint32_t add_up(std::uint32_t crc, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), INT_MAX);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(size), crc);
    bytes.remove_prefix(size);
  }
  return crc;
}

#ifdef __SSE4_2__
// For few bytes the library's setup costs more than it saves.
constexpr std::size_t kShortBytes = 256;

std::uint32_t add_up_short(std::uint32_t crc, std::string_view bytes) {
  std::uint64_t sum = crc;
  for (; bytes.size() >= sizeof sum; bytes.remove_prefix(sizeof sum)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    sum = __builtin_ia32_crc32di(sum, word);
  }
  auto rest = static_cast<std::uint32_t>(sum);
  for (const char c : bytes) rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(c));
  return rest;
}
#else
constexpr std::size_t kShortBytes = 0;
constexpr auto add_up_short = add_up;
#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  return ~(bytes.size() < kShortBytes ? add_up_short(~before, bytes) : add_up(~before, bytes));
}

RowSum& RowSum::add(std::int64_t number) {
  if constexpr (std::endian::native == std::endian::big) {
    number = static_cast<std::int64_t>(__builtin_bswap64(static_cast<std::uint64_t>(number)));
  }
  sum_ = crc32c({reinterpret_cast<const char*>(&number), sizeof number}, sum_);
  return *this;
}

RowSum& RowSum::add(std::string_view bytes) {
  add(static_cast<std::int64_t>(bytes.size()));
  sum_ = crc32c(bytes, sum_);
  return *this;
}

std::uint32_t fact_sum(std::uint32_t before, std::uint64_t number, TimeMs time_ms,
                       std::uint64_t kind, std::string_view body) {
  return RowSum(before).add(number).add(time_ms).add(kind).add(body).value();
}

}  // namespace subak
