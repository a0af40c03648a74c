#include "server/log/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace subak::log {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("subak",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_level(LogLevel level) { logger().set_level(to_spdlog(level)); }

LogLevel level() {
  switch (logger().level()) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return LogLevel::kDebug;
    case spdlog::level::info:
      return LogLevel::kInfo;
    case spdlog::level::warn:
      return LogLevel::kWarn;
    default:
      return LogLevel::kError;
  }
}

std::string line(std::string_view message, Fields fields) {
  std::string out = "msg=";
  text::write_string(out, message);
  for (const Field& field : fields) {
    out += ' ';
    out += field.key;
    out += '=';
    text::write_string(out, field.value);
  }
  return out;
}

void write(LogLevel at, std::string_view message, Fields fields) {
  const spdlog::level::level_enum level = to_spdlog(at);
  if (!logger().should_log(level)) return;
  std::string text = "level=";
  text += enum_name(at);
  text += ' ';
  text += line(message, fields);
  logger().log(level, spdlog::string_view_t(text));
}

}  // namespace subak::log
