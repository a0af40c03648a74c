// Authentication of callers and their roles.
//
// Without a token file the server listens on loopback only, without TLS. Every caller is then an
// admin called "loopback", unless that is switched off. The Unix socket admits only configured
// users, and the admin there is called "socket". With a token file, every call except health and
// reflection needs the metadata
//     authorization: Bearer TOKEN
// and beyond loopback the server speaks TLS only. The token file has one token a line,
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
  // Also edits below `subtree` and acts for jobs of it.
  kTeamAdmin,
  // May do everything.
  kAdmin,
};

// The SHA-256 digest of a token.
using TokenDigest = std::array<unsigned char, 32>;
// Of the bytes as they are, without trimming.
TokenDigest digest_of(std::string_view token);

// A value: streams keep a copy of it as it was at admission.
struct Caller {
  Role role = Role::kViewer;
  // At kTeamAdmin an account path; else empty.
  std::string subtree;
  // The name in the audit log: "loopback", "socket", "token:ci".
  std::string actor;
  // The digest of the token shown; zeros: none was required.
  TokenDigest token{};

  bool is_admin() const { return role == Role::kAdmin; }
  // True if the caller may change the account itself: an admin, or the admin of a subtree that
  // holds the account strictly below its top.
  bool may_edit_account(std::string_view path) const;
  // True if the caller may submit, hold and cancel jobs of this account (path with or without
  // user).
  bool may_run_as(std::string_view path) const;
};

// The callers of a token file. The error's field is "tokens:LINE".
using Tokens = std::map<TokenDigest, Caller>;
// kInvalid also for a text without tokens or with more than limits::kMaxTokens. No error has a
// token in it. A subtree is taken as written: it need not exist.
Result<Tokens> parse_tokens(std::string_view text);

// The rights of a caller now, compared with those it had when it was admitted.
// kGood: as admitted. kLess: a role below the required one. kGone: the token is unknown, or has
// another name now.
enum class Standing : unsigned char { kGood, kLess, kGone };

// Threads: any.
// Readers work on one version of the tokens while load() replaces it.
class Authenticator {
 public:
  // Without a file every caller is "loopback", if `loopback_admin`. Call load() before use.
  // `token_file`: a path; empty: there is none.
  explicit Authenticator(std::string token_file, bool loopback_admin = true)
      : file_(std::move(token_file)), loopback_admin_(loopback_admin) {}
  bool wants_token() const { return !file_.empty(); }
  // Reads the file (again). On an error the tokens stay unchanged.
  // kInvalid, field "tokens" or "tokens:LINE". Without a file it does nothing. Reads the whole
  // file, so not on the loop's thread.
  std::optional<Error> load();
  // Returns the caller of an "authorization" value from `peer` (gRPC's name of it), or nothing for
  // a missing or unknown token. Its run time does not depend on the known tokens. The scheme is
  // "Bearer " in any case (RFC 7235, 2.1), with one blank. A caller on the Unix socket ("unix:...")
  // needs no token, but has the role of a token that it shows.
  std::optional<Caller> caller(std::string_view authorization, std::string_view peer) const;
  // Tells whether `caller` would still be admitted where `least` is required. kLess: the token is
  // known, with a lesser role.
  // A caller that needed no token is always kGood.
  Standing standing(const Caller& caller, Role least) const;
  // Says why the file is not private and how to fix that; empty if it is private. As of load().
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
