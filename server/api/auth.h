// Who calls and what they may do.
//
// Without a token file the server listens on loopback only, without TLS, and every caller is an
// admin called "loopback", unless that is switched off. Over the Unix socket, which lets in only
// users that it was told, the admin is called "socket". With a token file, every call except health
// and reflection needs the metadata
//     authorization: Bearer TOKEN
// and beyond loopback the server speaks TLS only. The token file has one token a line,
//     TOKEN ROLE [SUBTREE] NAME        # "viewer NAME", "team-admin ml.vision NAME", "admin NAME"
// fields separated by blanks, `#` starts a comment line. NAME is what the audit log shows
// ("token:NAME"). Tokens have limits::kMinTokenBytes to kMaxTokenBytes bytes; each token and name
// once. Only SHA-256 digests of them stay in memory, and tokens are looked up by these.
#pragma once

#include <array>
#include <map>
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

using TokenDigest = std::array<unsigned char, 32>;  // SHA-256
TokenDigest digest_of(std::string_view token);

struct Caller {
  Role role = Role::kViewer;
  std::string subtree;  // kTeamAdmin: an account path
  std::string actor;    // "loopback", "token:ci"
  TokenDigest token{};  // that it showed; zeros: none was wanted

  bool is_admin() const { return role == Role::kAdmin; }
  // May change the account itself: an admin, or the admin of a subtree that holds it strictly below
  // its top.
  bool may_edit_account(std::string_view path) const;
  // May submit, hold, cancel jobs of this account (path without or with user).
  bool may_run_as(std::string_view path) const;
};

// The callers of a token file. The error's field is "tokens:LINE".
using Tokens = std::map<TokenDigest, Caller>;
Result<Tokens> parse_tokens(std::string_view text);

// What has become of a caller's rights since it was let in.
enum class Standing : unsigned char { kGood, kLess, kGone };

// Threads: any.
class Authenticator {
 public:
  // No file: everybody is "loopback" where that is an admin. Call load() before use.
  explicit Authenticator(std::string token_file, bool loopback_admin = true)
      : file_(std::move(token_file)), loopback_admin_(loopback_admin) {}
  bool wants_token() const { return !file_.empty(); }
  // Reads the file (again). On an error the tokens stay as they were.
  std::optional<Error> load();
  // The caller of an "authorization" value that came from `peer`, as gRPC calls it; nothing for a
  // missing or unknown token. What it takes depends on no token that is known.
  std::optional<Caller> caller(std::string_view authorization, std::string_view peer) const;
  // Would `caller` be let in again where `least` is needed? kLess: known, with another role.
  Standing standing(const Caller& caller, Role least) const;
  // Why the file is not as private as it should be, and the remedy; empty if it is. As of load().
  std::string warning() const;

 private:
  std::shared_ptr<const Tokens> tokens() const;

  std::string file_;
  bool loopback_admin_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Tokens> tokens_;
  std::string warning_;
};

}  // namespace subak::api
