#include "sim/read/csv.h"

#include <zlib.h>

#include <array>
#include <charconv>
#include <utility>

#include "core/decimal.h"
#include "core/limits.h"

namespace subak::sim {

struct CsvReader::File {
  gzFile handle = nullptr;
  ~File() {
    if (handle) gzclose(handle);
  }
};

CsvReader::CsvReader(std::string path) : path_(std::move(path)), file_(std::make_unique<File>()) {}
CsvReader::~CsvReader() = default;

Result<std::unique_ptr<CsvReader>> CsvReader::open(const std::string& path) {
  std::unique_ptr<CsvReader> reader(new CsvReader(path));
  reader->file_->handle = gzopen(path.c_str(), "rb");
  if (!reader->file_->handle) {
    return Error{ErrorCode::kNotFound, path, "", "a CSV file that can be read"};
  }
  gzbuffer(reader->file_->handle, 1u << 18);
  Result<bool> header = reader->read_line();
  if (!header.ok()) return header.error();
  if (!*header) return Error{ErrorCode::kInvalid, path, "", "a header line that names the columns"};
  if (const auto error = reader->split()) return *error;
  reader->columns_ = reader->fields_;
  for (std::size_t i = 0; i < reader->columns_.size(); ++i) {
    if (*reader->column(reader->columns_[i]) != i) {
      return Error{ErrorCode::kInvalid, path + ":1", reader->columns_[i], "each column named once"};
    }
  }
  return reader;
}

std::optional<std::size_t> CsvReader::column(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == name) return i;
  }
  return std::nullopt;
}

Result<std::size_t> CsvReader::need(std::string_view name) const {
  if (const auto at = column(name)) return *at;
  std::string all;
  for (const std::string& c : columns_) all += (all.empty() ? "" : ",") + c;
  return Error{ErrorCode::kInvalid, path_ + ":1", all, "a column named " + std::string(name)};
}

Result<bool> CsvReader::read_line() {
  text_.clear();
  std::array<char, 4096> buffer{};
  while (true) {
    const z_off_t start = gztell(file_->handle);
    if (!gzgets(file_->handle, buffer.data(), static_cast<int>(buffer.size()))) {
      int code = Z_OK;
      gzerror(file_->handle, &code);
      if (code != Z_OK && code != Z_STREAM_END) {
        ++line_;
        return error(std::nullopt, "a file that is not cut short or damaged");
      }
      if (text_.empty()) return false;
      break;
    }
    const std::string_view part(buffer.data());
    text_ += part;
    if (gztell(file_->handle) - start != static_cast<z_off_t>(part.size())) {
      ++line_;
      return error(std::nullopt, "text without NUL bytes");
    }
    if (text_.size() > limits::kMaxTraceLineBytes) {
      ++line_;
      text_.clear();
      return error(std::nullopt,
                   "lines of at most " + std::to_string(limits::kMaxTraceLineBytes) + " bytes");
    }
    if (!text_.empty() && text_.back() == '\n') break;
  }
  ++line_;
  while (!text_.empty() && (text_.back() == '\n' || text_.back() == '\r')) text_.pop_back();
  return true;
}

std::optional<Error> CsvReader::split() {
  fields_.clear();
  std::size_t i = 0;
  while (true) {
    std::string& field = fields_.emplace_back();
    if (i < text_.size() && text_[i] == '"') {
      bool closed = false;
      for (++i; i < text_.size() && !closed; ++i) {
        if (text_[i] != '"') {
          field += text_[i];
        } else if (i + 1 < text_.size() && text_[i + 1] == '"') {
          field += text_[i++];
        } else {
          closed = true;
        }
      }
      if (!closed || (i < text_.size() && text_[i] != ',')) {
        return error(fields_.size() - 1, "a quoted field that ends with a quote and a comma");
      }
    } else {
      while (i < text_.size() && text_[i] != ',') field += text_[i++];
    }
    if (i >= text_.size()) return std::nullopt;
    ++i;
  }
}

Result<bool> CsvReader::next() {
  do {
    Result<bool> more = read_line();
    if (!more.ok() || !*more) return more;
  } while (text_.empty());
  if (const auto error = split()) return *error;
  if (fields_.size() != columns_.size()) {
    return error(std::nullopt, std::to_string(columns_.size()) + " fields, as the header has");
  }
  return true;
}

std::string_view CsvReader::field(std::optional<std::size_t> column) const {
  return column && *column < fields_.size() ? std::string_view(fields_[*column]) : "";
}

Error CsvReader::error(std::optional<std::size_t> column, std::string_view want) const {
  std::string where = path_ + ":" + std::to_string(line_);
  if (column && *column < columns_.size()) where += ": " + columns_[*column];
  std::string got(column ? field(column) : std::string_view(text_));
  if (got.size() > 80) got = got.substr(0, 80) + "...";
  return Error{ErrorCode::kInvalid, where, got, std::string(want)};
}

Result<std::int64_t> CsvReader::integer(std::size_t column, std::int64_t least,
                                        std::int64_t most) const {
  const std::string_view s = field(column);
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (ec != std::errc() || end != s.data() + s.size() || value < least || value > most) {
    return error(column,
                 "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

// A trace spans decades at most; more is a mistake in the file.
constexpr std::int64_t kMostSeconds = 100LL * 366 * 86'400;

Result<DurationMs> CsvReader::seconds(std::size_t column) const {
  const std::string_view s = field(column);
  const std::size_t dot = s.find('.');
  std::int64_t whole = 0;
  const std::size_t digits = dot == std::string_view::npos ? s.size() : dot;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + digits, whole);
  bool good = digits > 0 && ec == std::errc() && end == s.data() + digits && whole >= 0 &&
              whole <= kMostSeconds;
  std::int64_t ms = 0;
  if (good && dot != std::string_view::npos) {
    const std::string_view part = s.substr(dot + 1);
    std::int64_t unit = 100;
    for (const char c : part) {
      if (c < '0' || c > '9') good = false;
      ms += (c - '0') * unit;  // decimals below a millisecond are cut
      unit /= 10;
    }
  }
  if (!good) return error(column, "seconds >= 0 such as 90 or 90.5");
  return whole * kSecondMs + ms;
}

Result<MilliGpu> CsvReader::milligpu(std::size_t column) const {
  const auto value = parse_milligpu(field(column), "gpus");
  if (!value.ok()) return error(column, value.error().want);
  return *value;
}

}  // namespace subak::sim
