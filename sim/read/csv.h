// Reads CSV files, plain or gzip: a header line that names the columns, then one row per line.
// Fields may be quoted, but a quoted field must end on its line. Every mistake becomes an Error
// whose field is "file:line: column".
// Threads: one at a time for each reader.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"

namespace subak::sim {

// Reads one file, row by row. The reader has only one line in memory.
class CsvReader {
 public:
  // Opens the file and reads the header. Errors: the file cannot be read, is empty, or names a
  // column twice.
  static Result<std::unique_ptr<CsvReader>> open(const std::string& path);
  ~CsvReader();
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // Returns the names in the header, in order.
  const std::vector<std::string>& columns() const { return columns_; }
  // Returns the index of the column; nullopt if the file has no column of this name.
  std::optional<std::size_t> column(std::string_view name) const;
  // Returns the index of the column. For a missing column, returns an Error that lists the columns
  // of the file.
  Result<std::size_t> need(std::string_view name) const;

  // Reads the next row, and skips blank lines. Returns false at the end of the file. Errors: a line
  // that is too long, quotes that do not close, a number of fields that differs from the header, a
  // damaged file.
  Result<bool> next();
  // Returns a field of the current row; empty for a column that the file lacks.
  std::string_view field(std::optional<std::size_t> column) const;
  // Returns an error about a field of the current row. The error has the value of the field. `want`
  // says which values are accepted (Error::want). Without a column, the error has the complete
  // line.
  Error error(std::optional<std::size_t> column, std::string_view want) const;
  // Returns the number of the current line, from 1.
  std::size_t line() const { return line_; }

  // integer(), seconds() and milligpu() return typed fields of the current row. An empty field is
  // an Error too.
  Result<std::int64_t> integer(std::size_t column, std::int64_t least, std::int64_t most) const;
  // Reads seconds with decimals, and returns milliseconds. The function cuts decimals below a
  // millisecond.
  Result<DurationMs> seconds(std::size_t column) const;
  // Reads GPUs with up to three decimals, like parse_milligpu().
  Result<MilliGpu> milligpu(std::size_t column) const;

 private:
  // The open file, plain or gzip.
  struct File;
  explicit CsvReader(std::string path);
  // Reads the next line into text_.
  Result<bool> read_line();
  // Splits text_ into fields_.
  std::optional<Error> split();
  // The path, for errors.
  std::string path_;
  std::unique_ptr<File> file_;
  // The current line.
  std::string text_;
  // The fields of the current row, without quotes.
  std::vector<std::string> fields_;
  // The names in the header.
  std::vector<std::string> columns_;
  // The number of the current line; 0: no line was read yet.
  std::size_t line_ = 0;
};

}  // namespace subak::sim
