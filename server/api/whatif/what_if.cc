#include "server/api/whatif/what_if.h"

#include <utility>

#include "server/log/thread_name.h"
#include "server/whatif/what_if_run.h"

namespace subak::api {
namespace {

// Progress that waits for the client. Further progress is left out, since it is soon out of date.
constexpr std::size_t kMostWaiting = 16;

Error another_runs(const std::string& caller) {
  return {ErrorCode::kExhausted, "", "",
          "the call WhatIf of " + caller + " runs; one runs at a time, so try again later"};
}

}  // namespace

WhatIfStream::WhatIfStream(StreamSet& set, Desk& desk, Store& store)
    : QueueWriter(set, kMostWaiting + 1), desk_(desk), store_(store) {}

void WhatIfStream::start(const v1::WhatIfRequest& request, std::uint64_t last_seq,
                         const std::string& caller) {
  if (const auto other = desk_.begin(caller)) {
    return close(other->empty() ? shutting_down() : to_status(another_runs(*other)));
  }
  const auto self = std::static_pointer_cast<WhatIfStream>(shared_from_this());
  desk_.run([self, request, last_seq] { self->work(request, last_seq); });
}

void WhatIfStream::work(const v1::WhatIfRequest& request, std::uint64_t last_seq) {
  name_background_thread("what-if");
  const grpc::Status status = send_report(request, last_seq);
  desk_.end();
  close(status);
}

void WhatIfStream::send_progress(const char* what, int percent) {
  if (backlog() >= kMostWaiting) return;
  v1::WhatIfResponse message;
  message.mutable_progress()->set_what(what);
  message.mutable_progress()->set_percent(percent);
  push(std::move(message));
}

grpc::Status WhatIfStream::send_report(const v1::WhatIfRequest& request, std::uint64_t last_seq) {
  const auto reader = store_.open_reader();
  if (!reader.ok()) return to_status(reader.error());
  whatif::Caller caller;
  caller.progress = [this](const char* what, int percent) { send_progress(what, percent); };
  caller.wanted = [this] { return !over_; };
  auto report = whatif::run_what_if(**reader, last_seq, request, caller);
  if (!report.ok()) return to_status(report.error());
  if (!*report) return grpc::Status::OK;  // the client has left
  v1::WhatIfResponse message;
  *message.mutable_report() = **std::move(report);
  push(std::move(message));
  await_written();
  return grpc::Status::OK;
}

void WhatIfStream::await_written() {
  MutexLock lock(wait_mutex_);
  wake_.wait(lock, [this] { return over_ || idle(); });
}

void WhatIfStream::drained() {
  { const MutexLock lock(wait_mutex_); }  // a wait that has just looked hears of it
  wake_.notify_all();
}

void WhatIfStream::ended() {
  over_ = true;
  drained();
}

}  // namespace subak::api
