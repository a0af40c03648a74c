// Reads the lines of a file that `sacctmgr dump` wrote:
//
//   QOS - 'high':Priority=100
//   Cluster - 'acme':Fairshare=1:QOS='normal'
//   Parent - 'root'
//   Account - 'ml':Description='machine learning':Fairshare=30:GrpTRES=gres/gpu=64
//
// The reader accepts what `sacctmgr load` accepts: comments and blank lines, names without quotes,
// fields in any order, += and -=, and a colon at the end. It interprets no field; slurm_tree.h
// does.
// Threads: one at a time.
// Source: SchedMD, the manual page sacctmgr(1), section "FLAT FILE DUMP AND LOAD".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/migrate/migration.h"

namespace subak::cli {

// One field of a line. The texts point into the file's text.
struct DumpField {
  // The name as written: "Fairshare".
  std::string_view name;
  // The value without its quotes.
  std::string_view value;
};

// One line of a dump.
struct DumpLine {
  // The line's number, from 1.
  std::size_t number = 0;
  // "Cluster", "QOS", "Parent", "Account" or "User", as written.
  std::string_view object;
  // The name without its quotes; never empty.
  std::string_view name;
  std::vector<DumpField> fields;
};

// Reads one line after the other.
class DumpReader {
 public:
  // `file` must outlive the reader.
  explicit DumpReader(const SourceFile& file) : file_(file), rest_(file.text) {}

  // Returns the next line that is neither blank nor a comment; nullptr at the end of the file. The
  // line is valid until the next call. Throws MigrateMistake if the line is malformed.
  const DumpLine* next();
  // True if the last line of the file has no line end. Such a dump may be incomplete.
  bool ends_inside_a_line() const;

 private:
  // Reads a line without its line end.
  void read(std::string_view text);
  // Takes a quoted or plain value from the front of `text`, up to a colon or the end. `resource`:
  // a value of TRES, in which a colon may belong to the type of a GPU.
  std::string_view take_value(std::string_view& text, const std::string& field,
                              bool resource) const;
  DumpField take_field(std::string_view& text) const;
  [[noreturn]] void fail(const std::string& field, std::string_view got,
                         const std::string& want) const;

  const SourceFile& file_;
  // The text that is not read yet.
  std::string_view rest_;
  DumpLine line_;
};

// True if some line of the text has the form of a dump.
bool is_dump(std::string_view text);
// True if the two names differ only in the case of letters.
bool same_name(std::string_view a, std::string_view b);

}  // namespace subak::cli
