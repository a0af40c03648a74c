// Who calls and what they may do.
//
// Without a token file the server listens on loopback only, without TLS, and every caller is an
// admin called "loopback". With one, every call except health and reflection needs the metadata
//     authorization: Bearer TOKEN
// and beyond loopback the server speaks TLS only. The token file has one token a line,
//     TOKEN ROLE [SUBTREE] NAME        # "viewer NAME", "team-admin ml.vision NAME", "admin NAME"
// fields separated by blanks, `#` starts a comment line. NAME is what the audit log shows
// ("token:NAME"). Tokens have at least limits::kMinTokenBytes bytes; each token and name once.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace subak::api {

enum class Role : unsigned char {
  kViewer,     // reads everything, changes nothing
  kTeamAdmin,  // also edits below `subtree` and acts for jobs of it
  kAdmin,      // everything
};

struct Caller {
  Role role = Role::kViewer;
  std::string subtree;  // kTeamAdmin: an account path
  std::string actor;    // "loopback", "token:ci"

  bool is_admin() const { return role == Role::kAdmin; }
  // May change the account itself: an admin, or the admin of a subtree that holds it strictly below
  // its top.
  bool may_edit_account(std::string_view path) const;
  // May submit, hold, cancel jobs of this account (path without or with user).
  bool may_run_as(std::string_view path) const;
};

struct Token {
  std::string secret;
  Caller caller;
};

// The error's field is "tokens:LINE".
Result<std::vector<Token>> parse_tokens(std::string_view text);

// Threads: any.
class Authenticator {
 public:
  // Empty: everybody is "loopback". Call load() before use.
  explicit Authenticator(std::string token_file) : file_(std::move(token_file)) {}
  bool wants_token() const { return !file_.empty(); }
  // Reads the file (again). On an error the tokens stay as they were.
  std::optional<Error> load();
  // The caller of an "authorization" value; nothing for a missing or unknown token. Takes the same
  // time whichever token is wrong.
  std::optional<Caller> caller(std::string_view authorization) const;

 private:
  std::string file_;
  mutable std::mutex mutex_;
  std::shared_ptr<const std::vector<Token>> tokens_;
};

}  // namespace subak::api
