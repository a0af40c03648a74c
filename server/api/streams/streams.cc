#include "server/api/streams/streams.h"

#include <array>
#include <string_view>
#include <vector>

#include "core/limits.h"

namespace subak::api {
namespace {

std::string_view name_of(StreamKind kind) {
  constexpr std::array<std::string_view, 6> kNames{"Observe", "Effects", "WatchJobs",
                                                   "Static",  "Backup",  "WhatIf"};
  return kNames[static_cast<std::size_t>(kind)];
}

grpc::Status too_many(std::size_t most, StreamKind kind, std::string_view whose) {
  return to_status({ErrorCode::kExhausted, "", "",
                    std::to_string(most) + " " + std::string(name_of(kind)) + " streams of " +
                        std::string(whose) + " are open; end one, or try again later"});
}

}  // namespace

grpc::Status StreamSet::refusal_of(const Owner& owner) const {
  switch (auth_.standing(owner.caller, owner.least)) {
    case Standing::kGood:
      return grpc::Status::OK;
    case Standing::kLess:
      return to_status({ErrorCode::kDenied, "", "", owner.caller.actor + " has another role now"});
    case Standing::kGone:
      return unauthenticated("this token is not known any more; want one of the token file");
  }
  return grpc::Status::OK;
}

grpc::Status StreamSet::limit_reached(StreamKind kind, const std::string& actor) {
  if (of_kind_[kind] >= limits::kMaxStreams) {
    return too_many(limits::kMaxStreams, kind, "all callers");
  }
  const auto own = of_caller_.find({kind, actor});
  if (own != of_caller_.end() && own->second >= limits::kMaxStreamsPerCaller) {
    return too_many(limits::kMaxStreamsPerCaller, kind, actor);
  }
  return grpc::Status::OK;
}

// Checks the rights again once the stream is registered: the tokens may have been read again
// between admission and here.
grpc::Status StreamSet::add(const std::shared_ptr<Closable>& stream, StreamKind kind,
                            const Admission& admission) {
  if (!admission.caller) return admission.refusal;
  const Owner owner{kind, *admission.caller, admission.least};
  {
    const MutexLock lock(mutex_);
    if (stopping_) return shutting_down();
    const grpc::Status full = limit_reached(kind, owner.caller.actor);
    if (!full.ok()) return full;
    open_.emplace(stream, owner);
    ++of_caller_[{kind, owner.caller.actor}];
    ++of_kind_[kind];
  }
  return refusal_of(owner);
}

void StreamSet::remove(const std::shared_ptr<Closable>& stream) {
  const MutexLock lock(mutex_);
  const auto at = open_.find(stream);
  if (at == open_.end()) return;
  const auto own = of_caller_.find({at->second.kind, at->second.caller.actor});
  if (--own->second == 0) of_caller_.erase(own);
  --of_kind_[at->second.kind];
  open_.erase(at);
}

void StreamSet::close_all() {
  std::vector<std::shared_ptr<Closable>> open;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& [stream, owner] : open_) open.push_back(stream);
  }
  for (const auto& stream : open) stream->close(shutting_down());
}

void StreamSet::check_rights() {
  std::vector<std::pair<std::shared_ptr<Closable>, grpc::Status>> ended;
  {
    const MutexLock lock(mutex_);
    for (const auto& [stream, owner] : open_) {
      grpc::Status status = refusal_of(owner);
      if (!status.ok()) ended.emplace_back(stream, std::move(status));
    }
  }
  for (const auto& [stream, status] : ended) stream->close(status);
}

}  // namespace subak::api
