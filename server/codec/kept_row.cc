#include "server/codec/kept_row.h"

namespace subak {
namespace {

constexpr std::size_t kKeptHeader = 16;

}  // namespace

void append_number(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i));
}

std::uint64_t number_at(std::string_view bytes, std::size_t at, int size) {
  std::uint64_t out = 0;
  for (int i = size; i-- > 0;) {
    out = out << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  }
  return out;
}

void append_kept(std::string& part, const KeptRow& row) {
  append_number(part, static_cast<std::uint64_t>(row.time_ms), 8);
  append_number(part, row.kind, 4);
  append_number(part, row.body.size(), 4);
  part += row.body;
}

std::optional<KeptRow> next_kept(std::string_view& part) {
  if (part.size() < kKeptHeader) return std::nullopt;
  const std::uint64_t length = number_at(part, 12, 4);
  if (part.size() - kKeptHeader < length) return std::nullopt;
  const KeptRow row{static_cast<TimeMs>(number_at(part, 0, 8)),
                    static_cast<std::uint32_t>(number_at(part, 8, 4)),
                    part.substr(kKeptHeader, length)};
  part.remove_prefix(kKeptHeader + length);
  return row;
}

}  // namespace subak
