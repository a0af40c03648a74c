// Writes structured logs: one line for each event, on stderr. A line has the text form of
// core/text.h, so that it can be pasted into a test:
//     time=2026-03-01T12:00:00.250Z level=info msg="job reserved" job=1-42 node=n7
// Any thread may call every function, and so may threads of libraries. No line is dropped. If
// stderr is slow, the caller waits for it. So the loop, the thread that decides, logs only rare
// events.
#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/text.h"

namespace subak {

// How important a line is. The least important level is first.
enum class LogLevel : unsigned char { kDebug, kInfo, kWarn, kError };
template <>
struct EnumText<LogLevel> {
  static constexpr std::array<std::string_view, 4> names{"debug", "info", "warn", "error"};
};

namespace log {

// One key=value of a line. A key is a plain word. A value is quoted if its text needs quotes.
struct Field {
  std::string_view key;
  std::string value;
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(v) {}
  Field(std::string_view k, bool v) : key(k), value(v ? "true" : "false") {}
  template <class T>
  requires std::integral<T> || std::floating_point<T> Field(std::string_view k, T v) : key(k) {
    text::write_value(value, v);
  }
};
using Fields = std::initializer_list<Field>;

// Sets the level for the whole process: lines below it are not written. The default is info. Any
// thread may call it, even while other threads log.
void set_level(LogLevel level);
LogLevel level();

// Writes one line, unless the level is below the one that set_level() set. It blocks while stderr
// blocks. Lines of different threads never mix. A line break in a value is written as an escape.
void write(LogLevel level, std::string_view message, Fields fields);
// debug(), info(), warn() and error() write one line at the level of their name.
inline void debug(std::string_view message, Fields fields = {}) {
  if (level() == LogLevel::kDebug) write(LogLevel::kDebug, message, fields);
}
inline void info(std::string_view message, Fields fields = {}) {
  write(LogLevel::kInfo, message, fields);
}
inline void warn(std::string_view message, Fields fields = {}) {
  write(LogLevel::kWarn, message, fields);
}
inline void error(std::string_view message, Fields fields = {}) {
  write(LogLevel::kError, message, fields);
}

// Returns the text that write() prints after time and level: msg="..." key=value. For tests.
std::string line(std::string_view message, Fields fields);

}  // namespace log
}  // namespace subak
