#include "core/text.h"

#include "core/printable.h"

namespace subak::text {
namespace {

// Characters that an unquoted atom may hold.
// Chosen so that paths, labels and products need no quotes.
bool is_atom_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || c == '/' || c == ':' || c == '+' || c == '*' || c == '@';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void write_string(std::string& out, std::string_view value) {
  bool plain = !value.empty();
  for (char c : value) plain = plain && is_atom_char(c);
  if (plain) {
    out += value;
    return;
  }
  constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  for (Piece piece; !value.empty(); value.remove_prefix(piece.bytes)) {
    piece = first_piece(value);
    const std::string_view bytes = value.substr(0, piece.bytes);
    if (bytes == "\n") {
      out += "\\n";
    } else if (piece.printable) {
      if (bytes == "\"" || bytes == "\\") out += '\\';
      out += bytes;
    } else {
      for (const char c : bytes) {
        const auto u = static_cast<unsigned char>(c);
        out += "\\x";
        out += hex[u >> 4];
        out += hex[u & 15];
      }
    }
  }
  out += '"';
}

void Reader::fail(std::string_view field, std::string_view got, std::string_view want) {
  if (!error_) {
    error_ = Error{ErrorCode::kInvalid, std::string(field), std::string(got), std::string(want)};
  }
}

void Reader::skip_blanks() {
  while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
}

bool Reader::at_end() {
  skip_blanks();
  return rest_.empty();
}

bool Reader::accept(char c) {
  skip_blanks();
  if (rest_.empty() || rest_[0] != c) return false;
  rest_.remove_prefix(1);
  return true;
}

std::string_view Reader::read_name() {
  skip_blanks();
  const auto eq = rest_.find_first_of("= \t{}[],");
  if (eq == 0 || eq == std::string_view::npos || rest_[eq] != '=') {
    fail("field", rest_.substr(0, 40), "want name=value");
    return {};
  }
  const std::string_view name = rest_.substr(0, eq);
  rest_.remove_prefix(eq + 1);
  return name;
}

std::string Reader::read_string(std::string_view field) {
  std::string out;
  if (rest_.empty() || rest_[0] != '"') {
    while (!rest_.empty() && is_atom_char(rest_[0])) {
      out += rest_[0];
      rest_.remove_prefix(1);
    }
    if (out.empty()) fail(field, rest_.substr(0, 40), "want a value");
    return out;
  }
  rest_.remove_prefix(1);
  while (!rest_.empty() && rest_[0] != '"') {
    char c = rest_[0];
    rest_.remove_prefix(1);
    if (c == '\\' && !rest_.empty()) {
      c = rest_[0];
      rest_.remove_prefix(1);
      if (c == 'n') {
        c = '\n';
      } else if (c == 'x') {
        const int hi = rest_.size() > 1 ? hex_digit(rest_[0]) : -1;
        const int lo = rest_.size() > 1 ? hex_digit(rest_[1]) : -1;
        if (hi < 0 || lo < 0) {
          fail(field, "", "want two hex digits after \\x");
          return out;
        }
        c = static_cast<char>(hi * 16 + lo);
        rest_.remove_prefix(2);
      }
    }
    out += c;
  }
  if (!accept('"')) fail(field, out, "want a closing quote");
  return out;
}

std::string job_id_text(JobId id) {
  return std::to_string(id.cluster().value) + "-" + std::to_string(id.sequence());
}

std::optional<JobId> parse_job_id(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  std::uint16_t cluster = 0;
  std::uint64_t sequence = 0;
  const char* mid = text.data() + dash;
  const char* end = text.data() + text.size();
  const auto a = std::from_chars(text.data(), mid, cluster);
  const auto b = std::from_chars(mid + 1, end, sequence);
  if (a.ec != std::errc() || a.ptr != mid || b.ec != std::errc() || b.ptr != end ||
      sequence >= (std::uint64_t{1} << 48)) {
    return std::nullopt;
  }
  return JobId(ClusterId(cluster), sequence);
}

}  // namespace subak::text
