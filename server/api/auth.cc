#include "server/api/auth.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "core/limits.h"
#include "engine/view.h"

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

// No secret is ever part of an error.
Error line_error(std::size_t line, std::string got, std::string want) {
  return {ErrorCode::kInvalid, "tokens:" + std::to_string(line), std::move(got), std::move(want)};
}

Result<Token> parse_line(const std::vector<std::string>& words, std::size_t line) {
  if (words.size() < 3) return line_error(line, "", "want TOKEN ROLE [SUBTREE] NAME");
  Token token;
  token.secret = words[0];
  if (token.secret.size() < limits::kMinTokenBytes) {
    return line_error(line, std::to_string(token.secret.size()) + " bytes",
                      "want a token of at least " + std::to_string(limits::kMinTokenBytes));
  }
  std::size_t want_words = 3;
  if (words[1] == "admin") {
    token.caller.role = Role::kAdmin;
  } else if (words[1] == "team-admin") {
    token.caller.role = Role::kTeamAdmin;
    token.caller.subtree = words[2];
    want_words = 4;
  } else if (words[1] != "viewer") {
    return line_error(line, words[1], "want viewer, team-admin or admin");
  }
  if (words.size() != want_words) {
    return line_error(
        line, std::to_string(words.size()) + " words",
        want_words == 4 ? "want TOKEN team-admin SUBTREE NAME" : "want TOKEN ROLE NAME");
  }
  token.caller.actor = "token:" + words.back();
  return token;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i % b.size()]));
  }
  return difference == 0;
}

}  // namespace

bool Caller::may_edit_account(std::string_view path) const {
  if (is_admin()) return true;
  return role == Role::kTeamAdmin && path != subtree && may_run_as(path);
}

bool Caller::may_run_as(std::string_view path) const {
  if (is_admin()) return true;
  return role == Role::kTeamAdmin && AccountsView::is_within(path, subtree);
}

Result<std::vector<Token>> parse_tokens(std::string_view text) {
  std::vector<Token> tokens;
  std::set<std::string> secrets, actors;
  std::size_t number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const auto to = std::min(text.find('\n', from), text.size());
    const std::vector<std::string> words = words_of(text.substr(from, to - from));
    from = to + 1;
    ++number;
    if (words.empty() || words[0].front() == '#') continue;
    auto token = parse_line(words, number);
    if (!token) return token.error();
    if (!secrets.insert(token->secret).second)
      return line_error(number, "", "this token is there twice");
    if (!actors.insert(token->caller.actor).second) {
      return line_error(number, words.back(), "this name is there twice");
    }
    tokens.push_back(std::move(*token));
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
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto tokens = parse_tokens(text);
  if (!tokens) return tokens.error();
  const std::scoped_lock lock(mutex_);
  tokens_ = std::make_shared<const std::vector<Token>>(std::move(*tokens));
  return std::nullopt;
}

std::optional<Caller> Authenticator::caller(std::string_view authorization) const {
  if (file_.empty()) return Caller{Role::kAdmin, "", "loopback"};
  constexpr std::string_view kBearer = "Bearer ";
  if (!authorization.starts_with(kBearer) || authorization.size() == kBearer.size())
    return std::nullopt;
  const std::string_view secret = authorization.substr(kBearer.size());
  std::shared_ptr<const std::vector<Token>> tokens;
  {
    const std::scoped_lock lock(mutex_);
    tokens = tokens_;
  }
  const Token* found = nullptr;
  if (tokens != nullptr) {
    for (const Token& token : *tokens) {
      if (equal_in_constant_time(secret, token.secret)) found = &token;
    }
  }
  return found == nullptr ? std::nullopt : std::optional(found->caller);
}

}  // namespace subak::api
