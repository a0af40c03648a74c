// Authentication of callers and their roles.
//
// Without a token file the server listens on loopback only, without TLS. Every caller there is an
// admin called "loopback", unless `loopback_admin` is false. The Unix socket admits only configured
// users; each is an admin called "socket". With a token file, every call except health and
// reflection needs the metadata
//     authorization: Bearer TOKEN
// and beyond loopback the server speaks only TLS. Each line of the token file has one token,
//     TOKEN ROLE [SUBTREE] NAME        # "viewer NAME", "team-admin ml.vision NAME", "admin NAME"
// with fields separated by blanks; `#` starts a comment line. NAME is what the audit log shows
// ("token:NAME"). A token has limits::kMinTokenBytes to kMaxTokenBytes bytes. Each token and each
// name occurs once. Memory holds only SHA-256 digests of tokens, and tokens are looked up by
// digest.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "threads/mutex.h"

namespace subak::api {

// The role of a caller. Each role includes the rights of those before it.
enum class Role : unsigned char {
  // Reads everything, changes nothing.
  kViewer,
  // Also edits accounts below `subtree`, and changes jobs of that subtree.
  kTeamAdmin,
  // May do everything.
  kAdmin,
};

// The SHA-256 digest of a token.
using TokenDigest = std::array<unsigned char, 32>;
// Returns the digest of all bytes of the token, without trimming.
TokenDigest digest_of(std::string_view token);

// An authenticated caller. This is a plain value:
// a stream has a copy, as of the stream's admission.
struct Caller {
  Role role = Role::kViewer;
  // The path of the account of a kTeamAdmin; for other roles empty.
  std::string subtree;
  // The name in the audit log: "loopback", "socket", "token:ci".
  std::string actor;
  // The digest of the caller's token; zeros: no token was required.
  TokenDigest token{};

  bool is_admin() const { return role == Role::kAdmin; }
  // True if the caller may change this account: an admin may, and a team admin if the account is
  // below the top of the admin's subtree.
  bool may_edit_account(std::string_view path) const;
  // True if the caller may submit, hold and cancel jobs of this account. `path` may end in a user.
  bool may_run_as(std::string_view path) const;
};

// The callers of a token file, by the digest of their token.
using Tokens = std::map<TokenDigest, Caller>;
// Reads the text of a token file. The field of an error is "tokens:LINE".
// It also fails with kInvalid if there is no token, or more than limits::kMaxTokens. No error text
// contains a token. The function does not check that a subtree exists.
Result<Tokens> parse_tokens(std::string_view text);

// The rights of a caller now, compared with those it had when it was admitted.
// kGood: the caller still has the required role. kLess: the caller's role is now below the required
// one. kGone: the token is now unknown, or belongs to another name.
enum class Standing : unsigned char { kGood, kLess, kGone };

// Authenticates callers by the tokens of a file. Threads: any.
// A reader works on one version of the tokens, while load() may replace it.
class Authenticator {
 public:
  // `token_file`: a path; empty: there is none. Without a file every caller is "loopback", if
  // `loopback_admin` is true. Call load() before use.
  explicit Authenticator(std::string token_file, bool loopback_admin = true)
      : file_(std::move(token_file)), loopback_admin_(loopback_admin) {}
  bool wants_token() const { return !file_.empty(); }
  // Reads the file (again). On an error the tokens stay unchanged.
  // The error is kInvalid, with field "tokens" or "tokens:LINE". Without a file it does nothing. Do
  // not call it on the loop's thread, since it reads a complete file.
  std::optional<Error> load();
  // Returns the caller that `authorization`, the metadata value, names; or nothing if the token is
  // missing or unknown. `peer` is the address as gRPC writes it. The run time does not depend on
  // the known tokens.
  // The scheme is "Bearer " in any case (RFC 7235, 2.1), with one blank. A caller on the Unix
  // socket ("unix:...") needs no token; with a token, it has the token's role.
  std::optional<Caller> caller(std::string_view authorization, std::string_view peer) const;
  // Says whether `caller` would still be admitted where the role `least` is required.
  // A caller that needed no token is always kGood.
  Standing standing(const Caller& caller, Role least) const;
  // Says why the token file was not private at the last load(), and how to fix that. Empty:
  // it was private.
  std::string warning() const;

 private:
  // null before the first load().
  std::shared_ptr<const Tokens> tokens() const;

  std::string file_;
  bool loopback_admin_;
  mutable Mutex mutex_;
  std::shared_ptr<const Tokens> tokens_ SUBAK_GUARDED_BY(mutex_);
  std::string warning_ SUBAK_GUARDED_BY(mutex_);
};

}  // namespace subak::api
