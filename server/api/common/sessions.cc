#include "server/api/common/sessions.h"

#include <openssl/rand.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "core/printable.h"
#include "server/api/common/browser_limits.h"

namespace subak::api {
namespace {

constexpr std::string_view kScheme = "Session ";

// Returns 256 random bits as hexadecimal digits.
std::string random_secret() {
  std::array<unsigned char, 32> bits{};
  if (RAND_bytes(bits.data(), bits.size()) != 1) throw std::runtime_error("no random bytes");
  return hex({reinterpret_cast<const char*>(bits.data()), bits.size()});
}

Error exhausted(std::string field, std::string want) {
  return {ErrorCode::kExhausted, std::move(field), "", std::move(want)};
}

}  // namespace

Sessions::Sessions(const Authenticator& auth, const Clock& clock)
    : auth_(auth), clock_(clock), own_(std::string(kScheme) + random_secret()) {}

Result<NewSession> Sessions::sign_in(std::string_view token, const std::string& from) {
  if (!auth_.wants_token()) {
    return Error{ErrorCode::kPrecondition, "tokens", "",
                 "want a token file (--tokens): without one there are no sign-ins"};
  }
  const DurationMs now = clock_.monotonic_ms();
  const MutexLock lock(mutex_);
  if (!may_sign_in(from, now)) {
    return exhausted("token", "too many sign-ins from this address; try again in a minute");
  }
  const auto caller = auth_.caller("Bearer " + std::string(token), kInProcess);
  if (!caller) {
    return Error{ErrorCode::kDenied, "token", "",
                 "this token is not known; want one of the token file"};
  }
  make_room(caller->token, now);
  if (sessions_.size() >= limits::kMaxSessions) {
    return exhausted("token", "there are " + std::to_string(limits::kMaxSessions) +
                                  " sessions; try again later");
  }
  NewSession made{random_secret(), caller->actor, caller->role};
  sessions_[digest_of(made.secret)] = {caller->token, caller->actor, now + limits::kSessionLifeMs,
                                       ++made_};
  return made;
}

void Sessions::sign_out(std::string_view secret) {
  const MutexLock lock(mutex_);
  sessions_.erase(digest_of(secret));
}

std::optional<Caller> Sessions::caller(std::string_view authorization) const {
  if (!authorization.starts_with(kScheme)) {
    auto caller = auth_.caller(authorization, kInProcess);
    if (caller) caller->lane = "browser " + caller->actor;
    return caller;
  }
  if (authorization == own_) return Caller{Role::kViewer, "", "console", {}, "console"};
  authorization.remove_prefix(kScheme.size());
  Session session;
  {
    const MutexLock lock(mutex_);
    const auto found = sessions_.find(digest_of(authorization));
    if (found == sessions_.end()) return std::nullopt;
    session = found->second;
  }
  if (session.ends_ms <= clock_.monotonic_ms()) return std::nullopt;
  auto caller = auth_.holder(session.token);
  if (!caller || caller->actor != session.actor) return std::nullopt;
  caller->lane = session.actor + " session " + std::to_string(session.number);
  return caller;
}

std::size_t Sessions::count() const {
  const MutexLock lock(mutex_);
  return sessions_.size();
}

bool Sessions::may_sign_in(const std::string& from, DurationMs now) {
  if (!sign_ins_.contains(from) && sign_ins_.size() >= limits::kMaxSignInAddresses) {
    std::erase_if(sign_ins_, [now](const auto& one) {
      return one.second.since_ms + limits::kSignInWindowMs <= now;
    });
    if (sign_ins_.size() >= limits::kMaxSignInAddresses) return false;
  }
  SignIns& made = sign_ins_[from];
  if (made.count == 0 || made.since_ms + limits::kSignInWindowMs <= now) made = {now, 0};
  return ++made.count <= limits::kMaxSignInsPerAddress;
}

void Sessions::make_room(const TokenDigest& token, DurationMs now) {
  std::erase_if(sessions_, [now](const auto& one) { return one.second.ends_ms <= now; });
  std::size_t of_token = 0;
  auto oldest = sessions_.end();
  for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
    if (it->second.token != token) continue;
    ++of_token;
    if (oldest == sessions_.end() || it->second.number < oldest->second.number) oldest = it;
  }
  if (of_token >= limits::kMaxSessionsPerToken) sessions_.erase(oldest);
}

}  // namespace subak::api
