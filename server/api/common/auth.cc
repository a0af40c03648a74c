#include "server/api/common/auth.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>

#include "core/account_path.h"
#include "core/limits.h"
#include "core/printable.h"
#include "engine/answers/view.h"

namespace subak::api {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  constexpr std::string_view kBlanks = " \t\r";
  for (auto from = line.find_first_not_of(kBlanks); from != std::string_view::npos;) {
    const auto to = std::min(line.find_first_of(kBlanks, from), line.size());
    words.emplace_back(line.substr(from, to - from));
    from = line.find_first_not_of(kBlanks, to);
  }
  return words;
}

// No error contains a secret.
Error line_error(std::size_t line, std::string got, std::string want) {
  return {ErrorCode::kInvalid, "tokens:" + std::to_string(line), std::move(got), std::move(want)};
}

Result<Caller> parse_line(const std::vector<std::string>& words, std::size_t line) {
  if (words.size() < 3) return line_error(line, "", "want TOKEN ROLE [SUBTREE] NAME");
  const std::size_t bytes = words[0].size();
  if (bytes < limits::kMinTokenBytes || bytes > limits::kMaxTokenBytes) {
    return line_error(line, std::to_string(bytes) + " bytes",
                      "want a token of " + std::to_string(limits::kMinTokenBytes) + " to " +
                          std::to_string(limits::kMaxTokenBytes) + " bytes");
  }
  Caller caller;
  caller.token = digest_of(words[0]);
  std::size_t want_words = 3;
  if (words[1] == "admin") {
    caller.role = Role::kAdmin;
  } else if (words[1] == "team-admin") {
    caller.role = Role::kTeamAdmin;
    caller.subtree = words[2];
    want_words = 4;
  } else if (words[1] != "viewer") {
    return line_error(line, words[1], "want viewer, team-admin or admin");
  }
  if (words.size() != want_words) {
    return line_error(
        line, std::to_string(words.size()) + " words",
        want_words == 4 ? "want TOKEN team-admin SUBTREE NAME" : "want TOKEN ROLE NAME");
  }
  if (!is_printable(words.back())) {
    return line_error(line, printable(words.back()), std::string(kWantPrintable));
  }
  caller.actor = "token:" + words.back();
  return caller;
}

// A Kubernetes secret is readable by all users by default, so this is only a warning. A group may
// be intended: fsGroup gives one to the service alone.
std::string warning_of(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return "";
  if ((found.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) == 0) return "";
  return "others can read or change the token file " + file +
         "; want chmod 0600, of a Kubernetes secret defaultMode: 0400";
}

}  // namespace

TokenDigest digest_of(std::string_view token) {
  TokenDigest out{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), out.data());
  return out;
}

bool Caller::may_edit_account(std::string_view path) const {
  if (is_admin()) return true;
  return role == Role::kTeamAdmin && path != subtree && may_run_as(path);
}

bool Caller::may_run_as(std::string_view path) const {
  if (is_admin()) return true;
  return role == Role::kTeamAdmin && is_path_within(path, subtree);
}

Result<Tokens> parse_tokens(std::string_view text) {
  Tokens tokens;
  std::set<std::string> actors;
  std::size_t number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const auto to = std::min(text.find('\n', from), text.size());
    std::vector<std::string> words = words_of(text.substr(from, to - from));
    from = to + 1;
    ++number;
    if (words.empty() || words[0].front() == '#') continue;
    auto caller = parse_line(words, number);
    OPENSSL_cleanse(words[0].data(), words[0].size());
    if (!caller) return caller.error();
    if (!actors.insert(caller->actor).second) {
      return line_error(number, words.back(), "this name is there twice");
    }
    const TokenDigest digest = caller->token;
    if (!tokens.emplace(digest, std::move(*caller)).second) {
      return line_error(number, "", "this token is there twice");
    }
    if (tokens.size() > limits::kMaxTokens) {
      return line_error(number, "",
                        "want at most " + std::to_string(limits::kMaxTokens) + " tokens");
    }
  }
  if (tokens.empty()) return line_error(number, "", "want at least one token");
  return tokens;
}

std::optional<Error> Authenticator::load() {
  if (file_.empty()) return std::nullopt;
  std::ifstream in(file_, std::ios::binary);
  if (!in) return Error{ErrorCode::kInvalid, "tokens", file_, "want a token file that can be read"};
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto tokens = parse_tokens(text);
  OPENSSL_cleanse(text.data(), text.size());
  if (!tokens) return tokens.error();
  std::string warning = warning_of(file_);
  const MutexLock lock(mutex_);
  tokens_ = std::make_shared<const Tokens>(std::move(*tokens));
  warning_ = std::move(warning);
  return std::nullopt;
}

std::shared_ptr<const Tokens> Authenticator::tokens() const {
  const MutexLock lock(mutex_);
  return tokens_;
}

std::string Authenticator::warning() const {
  const MutexLock lock(mutex_);
  return warning_;
}

// The look-up need not take constant time: a known digest reveals nothing about tokens with the
// same beginning.
std::optional<Caller> Authenticator::caller(std::string_view authorization,
                                            std::string_view peer) const {
  const bool on_socket = peer.starts_with("unix:");
  if (on_socket && (authorization.empty() || file_.empty())) {
    return Caller{Role::kAdmin, "", "socket", {}};
  }
  if (file_.empty()) {
    if (!loopback_admin_) return std::nullopt;
    return Caller{Role::kAdmin, "", "loopback", {}};
  }
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view scheme = authorization.substr(0, kBearer.size());
  const bool bearer =
      std::equal(scheme.begin(), scheme.end(), kBearer.begin(), kBearer.end(),
                 [](unsigned char got, char want) { return std::tolower(got) == want; });
  if (!bearer) return std::nullopt;
  const std::string_view secret = authorization.substr(kBearer.size());
  if (secret.empty() || secret.size() > limits::kMaxTokenBytes) return std::nullopt;
  return holder(digest_of(secret));
}

std::optional<Caller> Authenticator::holder(const TokenDigest& token) const {
  const std::shared_ptr<const Tokens> known = tokens();
  if (known == nullptr) return std::nullopt;
  const auto found = known->find(token);
  return found == known->end() ? std::nullopt : std::optional(found->second);
}

Standing Authenticator::standing(const Caller& caller, Role least) const {
  if (caller.token == TokenDigest{}) return Standing::kGood;
  const std::shared_ptr<const Tokens> known = tokens();
  if (known == nullptr) return Standing::kGone;
  const auto found = known->find(caller.token);
  if (found == known->end() || found->second.actor != caller.actor) return Standing::kGone;
  return found->second.role < least ? Standing::kLess : Standing::kGood;
}

}  // namespace subak::api
