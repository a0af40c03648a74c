#include "server/edge/client/credentials.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "core/duration.h"
#include "core/error.h"
#include "core/limits.h"

namespace subak {
namespace {

constexpr DurationMs kNever = std::numeric_limits<DurationMs>::max();

// Reads a small file completely, without waiting as at a pipe.
Result<std::string> read_small_file(const std::string& path, std::string field) {
  const auto bad = [&](const std::string& want) {
    return Error{ErrorCode::kPrecondition, std::move(field), cut_text(path), "want " + want};
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  std::string text;
  ssize_t count = fd < 0 ? -1 : 1;
  std::array<char, 4096> bytes;
  while (count > 0 && text.size() <= limits::kMaxCredentialBytes) {
    count = read(fd, bytes.data(), bytes.size());
    if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  const int error = errno;
  if (fd >= 0) close(fd);
  if (count < 0) {
    return bad("a file that can be read: " + std::generic_category().message(error));
  }
  if (text.size() <= limits::kMaxCredentialBytes) return text;
  return bad("a file of at most " + std::to_string(limits::kMaxCredentialBytes) + " bytes");
}

std::string without_blanks(const std::string& text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool is_over(TimeMs since_ms, DurationMs wait_ms, TimeMs now_ms) {
  return now_ms < since_ms || now_ms - since_ms >= wait_ms;
}

}  // namespace

Credentials::Credentials(KubeAccess access)
    : access_(std::move(access)),
      by_plugin_(access_.exec && access_.token.empty() && access_.token_path.empty() &&
                 access_.certificate.empty()) {}

Credentials::Changed Credentials::refresh(TimeMs now_ms, bool refused) {
  if (plugin_) return watch_plugin(now_ms);
  if (refused) wait_ms_ = std::min(wait_ms_, by_plugin_ ? limits::kCredentialAgainMs : 0);
  if (!is_over(since_ms_, wait_ms_, now_ms)) return as_before();
  since_ms_ = now_ms;
  wait_ms_ = limits::kCredentialAgainMs;  // unless it succeeds
  if (by_plugin_) return start_plugin();
  if (!access_.token_path.empty()) return read_token_file();
  wait_ms_ = kNever;
  return changed({access_.token, "", ""});
}

Credentials::Changed Credentials::changed(Credential credential) {
  if (last_ == credential) return as_before();
  last_ = std::move(credential);
  return last_;
}

Credentials::Changed Credentials::read_token_file() {
  const auto text = read_small_file(access_.token_path, access_.user + ".tokenFile");
  if (!text.ok()) return text.error();
  std::string token = without_blanks(*text);
  if (token.empty() || !is_one_word(token)) {
    return Error{ErrorCode::kInvalid, access_.user + ".tokenFile", cut_text(access_.token_path),
                 "want a token of one line in this file"};
  }
  wait_ms_ = limits::kTokenFileMs;
  return changed({std::move(token), "", ""});
}

Credentials::Changed Credentials::start_plugin() {
  const ExecPlugin& exec = *access_.exec;
  Result<std::string> authority = access_.authority.pem;
  if (exec.wants_cluster && !access_.authority.path.empty()) {
    authority = read_small_file(access_.authority.path, "certificate-authority");
    if (!authority.ok()) return authority.error();
  }
  ChildProgram program{exec.command, exec.args, exec.env};
  program.env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(access_, *authority));
  auto started = Child::start(program);
  if (started.ok()) {
    plugin_ = std::move(started).value();
    return as_before();
  }
  Error error = started.error();
  error.field = access_.user + ".exec.command";
  if (!exec.install_hint.empty()) error.want += "; " + cut_text(exec.install_hint);
  return error;
}

Credentials::Changed Credentials::watch_plugin(TimeMs now_ms) {
  const bool ended = plugin_->poll();
  const bool wordy = plugin_->output().size() > limits::kMaxCredentialBytes;
  const bool late = is_over(since_ms_, limits::kExecPluginMs, now_ms);
  if (!ended && !wordy && !late) return as_before();
  const std::unique_ptr<Child> plugin = std::move(plugin_);  // killed here if it has not ended
  since_ms_ = now_ms;
  wait_ms_ = limits::kCredentialAgainMs;
  const auto bad = [this](std::string want) {
    return Error{ErrorCode::kPrecondition, access_.user + ".exec", access_.exec->command,
                 "want a program that " + std::move(want)};
  };
  if (wordy) {
    return bad("prints at most " + std::to_string(limits::kMaxCredentialBytes) + " bytes");
  }
  if (!ended) {
    return bad("ends within " + format_duration(limits::kExecPluginMs) +
               ": it was killed; does it wait for input?");
  }
  if (plugin->exit_code() != 0) {
    return bad("ends with exit code 0: its exit code was " + std::to_string(plugin->exit_code()) +
               "; run it as the user of this service to see what it says");
  }
  auto printed =
      read_exec_credential(plugin->output(), access_.exec->api_version, access_.user + ".exec");
  if (!printed.ok()) return printed.error();
  return take(std::move(printed).value(), now_ms);
}

Credentials::Changed Credentials::take(ExecCredential printed, TimeMs now_ms) {
  wait_ms_ = kNever;
  if (printed.expires_ms) {
    const DurationMs left = *printed.expires_ms - now_ms;
    wait_ms_ = std::max(limits::kCredentialAgainMs, left - limits::kCredentialEarlyMs);
    if (left <= 0) {
      return Error{ErrorCode::kInvalid, access_.user + ".exec: status.expirationTimestamp",
                   format_time(*printed.expires_ms),
                   "want a plugin that prints a credential that has not expired: is this machine's "
                   "clock right?"};
    }
  }
  return changed(std::move(printed.credential));
}

}  // namespace subak
