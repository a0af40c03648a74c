// Sessions of browsers, and the authentication of calls within the process. A browser exchanges a
// token of the token file for a session. A session has no rights of its own: each call looks up the
// token again, so the session has the token's present role, and ends with the token.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"
#include "server/api/common/auth.h"
#include "server/runtime/ports.h"
#include "threads/mutex.h"

namespace subak::api {

// The text in place of the peer's address, for calls within the process.
inline constexpr std::string_view kInProcess = "inproc";

// A session that was just made.
struct NewSession {
  // The secret that the browser keeps; only its digest stays here.
  std::string secret;
  // The name and role of the token.
  std::string actor;
  Role role = Role::kViewer;
};

// The sessions of one server. They are in memory, and end with the process. Threads: any.
class Sessions {
 public:
  // `auth` and `clock` must outlive this object.
  Sessions(const Authenticator& auth, const Clock& clock);
  // Exchanges a token for a session. `from`: the address of the caller, for the limit on sign-ins.
  // Errors: kDenied for an unknown token, kExhausted at a limit, and kPrecondition if there is no
  // token file.
  Result<NewSession> sign_in(std::string_view token, const std::string& from);
  // Ends a session. An unknown secret has no effect.
  void sign_out(std::string_view secret);
  // Returns the caller of a call within the process; nullopt: unknown. `authorization`: as for
  // Authenticator::caller(), or "Session SECRET". In queues in which callers take turns, each
  // session counts as a caller (Caller::turn()).
  std::optional<Caller> caller(std::string_view authorization) const;
  // Returns the authorization of the service's own calls, which have the role viewer. It also marks
  // calls within the process.
  const std::string& own() const { return own_; }
  // Returns the number of sessions that have not ended.
  std::size_t count() const;

 private:
  struct Session {
    TokenDigest token{};
    std::string actor;
    // By the monotonic clock.
    DurationMs ends_ms = 0;
    // The number of the session, counted from the start of the process. It is part of Caller::lane.
    std::uint64_t number = 0;
  };
  struct SignIns {
    DurationMs since_ms = 0;
    std::size_t count = 0;
  };
  // Counts a sign-in from this address. False: the address has made too many, so refuse the
  // sign-in.
  bool may_sign_in(const std::string& from, DurationMs now) SUBAK_REQUIRES(mutex_);
  // Ends the expired sessions. If the token has too many sessions, it also ends the oldest of them.
  void make_room(const TokenDigest& token, DurationMs now) SUBAK_REQUIRES(mutex_);

  const Authenticator& auth_;
  const Clock& clock_;
  const std::string own_;
  mutable Mutex mutex_;
  // By the digest of the secret.
  std::map<TokenDigest, Session> sessions_ SUBAK_GUARDED_BY(mutex_);
  std::map<std::string, SignIns> sign_ins_ SUBAK_GUARDED_BY(mutex_);
  std::uint64_t made_ SUBAK_GUARDED_BY(mutex_) = 0;
};

}  // namespace subak::api
