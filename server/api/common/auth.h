// Authenticates callers by tokens, and says which role each caller has.
//
// Without a token file, the server listens on loopback only, without TLS. Every caller on loopback
// is an admin called "loopback", unless `loopback_admin` is false. The Unix socket admits only
// configured users, and each of them is an admin called "socket". With a token file, every call
// except health and reflection needs the metadata
//     authorization: Bearer TOKEN
// and the server speaks only TLS with other machines. Each line of the token file has one token,
//     TOKEN ROLE [SUBTREE] NAME        # "viewer NAME", "team-admin ml.vision NAME", "admin NAME"
// with blanks between the fields. A line that begins with `#` is a comment. The audit log shows
// NAME as "token:NAME". A token has limits::kMinTokenBytes to limits::kMaxTokenBytes bytes. Each
// token and each name may occur only once. The process stores only the SHA-256 digests of tokens,
// and finds a token by its digest.
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

// The role of a caller. Each role has all rights of the roles before it.
enum class Role : unsigned char {
  // Reads everything, changes nothing.
  kViewer,
  // Also edits accounts below Caller::subtree, and changes jobs of that subtree.
  kTeamAdmin,
  // May do everything.
  kAdmin,
};

// The SHA-256 digest of a token.
using TokenDigest = std::array<unsigned char, 32>;
// Returns the digest of all bytes of the token, without trimming.
TokenDigest digest_of(std::string_view token);

// An authenticated caller. A Caller is a plain value: a stream has a copy that was made when the
// stream was admitted.
struct Caller {
  Role role = Role::kViewer;
  // For a kTeamAdmin: the path of the admin's account. Empty for other roles.
  std::string subtree;
  // The name in the audit log, such as "loopback", "socket" or "token:ci".
  std::string actor;
  // The digest of the caller's token; all zeros: the caller needed no token.
  TokenDigest token{};
  // The caller's name in queues in which callers take turns; empty: the same as `actor`.
  std::string lane = {};

  const std::string& turn() const { return lane.empty() ? actor : lane; }
  bool is_admin() const { return role == Role::kAdmin; }
  // True if the caller may change this account. An admin may change every account. A team admin may
  // change accounts below the account at the top of the admin's subtree.
  bool may_edit_account(std::string_view path) const;
  // True if the caller may submit, hold and cancel jobs of this account. `path` may end in a user.
  bool may_run_as(std::string_view path) const;
};

// The callers that a token file names, by the digest of their token.
using Tokens = std::map<TokenDigest, Caller>;
// Reads the text of a token file. The field of an error is "tokens:LINE". It fails with kInvalid if
// there is no token, or if there are more than limits::kMaxTokens. No error text contains a token.
// The function does not check whether the subtrees exist.
Result<Tokens> parse_tokens(std::string_view text);

// Whether a caller that was admitted earlier still has its role. kGood: the caller still has the
// required role. kLess: the caller's role is now below the required role. kGone: the caller's token
// is now unknown, or belongs to another name.
enum class Standing : unsigned char { kGood, kLess, kGone };

// Authenticates callers by the tokens of a file. Threads: any. load() may replace the tokens at any
// time; each call of another function uses one version of them.
class Authenticator {
 public:
  // `token_file`: the path of the file; empty: there is no file. Without a file, every caller is
  // the admin "loopback" if `loopback_admin` is true. Call load() before any other function.
  explicit Authenticator(std::string token_file, bool loopback_admin = true)
      : file_(std::move(token_file)), loopback_admin_(loopback_admin) {}
  bool wants_token() const { return !file_.empty(); }
  // Reads the file, at the start and again later. After an error, the tokens are unchanged. The
  // error is kInvalid, with the field "tokens" or "tokens:LINE". If there is no token file, the
  // function does nothing. Do not call it on the loop's thread, since it reads a complete file.
  std::optional<Error> load();
  // Returns the caller to which the token in `authorization` belongs; nullopt: the token is missing
  // or unknown. `authorization`: the value of the metadata; it begins with "Bearer " in upper or
  // lower case (RFC 7235, 2.1). `peer`: the address of the caller as gRPC writes it. A caller on
  // the Unix socket ("unix:...") needs no token; if it sends one, it has the role of that token.
  // The time that the function takes does not depend on the known tokens.
  std::optional<Caller> caller(std::string_view authorization, std::string_view peer) const;
  // Returns the caller to which the token with this digest belongs now; nullopt: it is unknown.
  std::optional<Caller> holder(const TokenDigest& token) const;
  // Says whether `caller` would be admitted now if the role `least` is required. A caller that
  // needed no token is always kGood.
  Standing standing(const Caller& caller, Role least) const;
  // Says why the token file was not private at the last load(), and what to do. Empty: the file was
  // private.
  std::string warning() const;

 private:
  // Returns the present tokens; null before the first load().
  std::shared_ptr<const Tokens> tokens() const;

  std::string file_;
  bool loopback_admin_;
  mutable Mutex mutex_;
  std::shared_ptr<const Tokens> tokens_ SUBAK_GUARDED_BY(mutex_);
  std::string warning_ SUBAK_GUARDED_BY(mutex_);
};

}  // namespace subak::api
