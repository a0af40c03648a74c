#include "server/api/streams/observe.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/limits.h"
#include "model/bounds/bounds.h"
#include "server/api/common/later.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {
constexpr auto kMailboxRetry = std::chrono::milliseconds(5);
}

void Observers::begin(const std::string& cluster) {
  const MutexLock lock(mutex_);
  ++open_[cluster];
}

void Observers::end(const std::string& cluster) {
  const MutexLock lock(mutex_);
  if (--open_[cluster] == 0) open_.erase(cluster);
}

std::map<std::string, std::size_t> Observers::read() const {
  const MutexLock lock(mutex_);
  return open_;
}

bool Observers::any(const std::string& cluster, bool alone) const {
  const MutexLock lock(mutex_);
  return open_.count(cluster) > 0 || (alone && open_.count("") > 0);
}

void Observers::reserve(const std::string& cluster) {
  const MutexLock lock(mutex_);
  ours_.insert(cluster);
  ++open_[cluster];
}

bool Observers::ours(const std::string& cluster, bool alone) const {
  const MutexLock lock(mutex_);
  if (ours_.contains(cluster)) return true;
  return alone && (cluster.empty() ? !ours_.empty() : ours_.contains(""));
}

Error follows_itself(const std::string& cluster) {
  return {
      ErrorCode::kPrecondition, "cluster", cluster,
      "the service follows this cluster itself, as its configuration says (kubeconfig, inCluster)"};
}

std::uint64_t Observers::next_session(const View& view) {
  const MutexLock lock(mutex_);
  for (const ClusterView& c : *view.clusters)
    last_session_ = std::max(last_session_, c.reports.session);
  return ++last_session_;
}

ObserveStream::ObserveStream(StreamSet& set, Observers& observers, Runtime& runtime,
                             std::string actor)
    : set_(set), observers_(observers), runtime_(runtime), actor_(std::move(actor)) {}

void ObserveStream::begin(const Admission& admission, const grpc::Status& ready) {
  self_ = shared_from_this();
  const grpc::Status status = set_.add(self_, StreamKind::kObserve, admission);
  if (!status.ok()) return close(status);
  if (!ready.ok()) return close(ready);
  read_more();
}

void ObserveStream::close(const grpc::Status& status) {
  {
    const MutexLock lock(mutex_);
    if (phase_.closing) return;
    phase_.closing = true;
    status_ = status;
    if (phase_.writing) return;  // OnWriteDone finishes
    phase_.finished = true;
  }
  Finish(status_);
}

void ObserveStream::OnDone() {
  if (incoming_.last_sequence > 0) observers_.end(incoming_.cluster);
  set_.remove(self_);
  const auto last = std::move(self_);  // may destroy this on return
}

void ObserveStream::read_more() {
  {
    const MutexLock lock(mutex_);
    if (phase_.closing || phase_.no_more || phase_.reading ||
        pending_.size() >= limits::kMaxObserveInFlight)
      return;
    phase_.reading = true;
  }
  StartRead(&incoming_.request);
}

void ObserveStream::OnReadDone(bool ok) {
  if (ok) return take_event();
  {
    const MutexLock lock(mutex_);
    phase_.reading = false;
    phase_.no_more = true;
  }
  advance();
}

std::optional<grpc::Status> ObserveStream::check_order() {
  Check check;
  if (incoming_.request.sequence() <= incoming_.last_sequence) {
    check.fail("sequence", std::to_string(incoming_.request.sequence()),
               "want more than " + std::to_string(incoming_.last_sequence));
  }
  const std::string cluster = check.name("cluster", incoming_.request.cluster(), false);
  if (incoming_.last_sequence == 0) {
    incoming_.cluster = cluster;
  } else if (!cluster.empty() && cluster != incoming_.cluster) {
    check.fail("cluster", cluster, "want one stream for each cluster");
  }
  check_session(check);
  if (!check.ok()) return to_status(check.error());
  const bool alone = runtime_.view()->clusters->size() == 1;
  if (observers_.ours(incoming_.cluster, alone))
    return to_status(follows_itself(incoming_.cluster));
  if (incoming_.last_sequence == 0) observers_.begin(incoming_.cluster);
  incoming_.last_sequence = incoming_.request.sequence();
  return std::nullopt;
}

// The first event may continue a session that another stream began. A list begins a new session.
void ObserveStream::check_session(Check& check) {
  const std::uint64_t named = incoming_.request.session();
  if (incoming_.last_sequence == 0 && named != 0) incoming_.session = named;
  if (named != 0 && named != incoming_.session) {
    check.fail("session", std::to_string(named),
               "want that of the stream: " +
                   (incoming_.session == kNoSession ? "none" : std::to_string(incoming_.session)));
  }
}

void ObserveStream::take_event() {
  if (const auto broken = check_order()) return close(*broken);
  const std::uint64_t sequence = incoming_.request.sequence();
  const bool begins = incoming_.request.has_list_begin();
  if (begins) incoming_.session = observers_.next_session(*runtime_.view());
  {
    const MutexLock lock(mutex_);
    pending_.push_back({sequence, begins ? incoming_.session : 0, false, std::nullopt});
  }
  Check check;
  in::Body body = get_event(check, incoming_.request, incoming_.cluster);
  const TimeMs sent_at_ms =
      incoming_.request.has_sent_at() ? check.time("sent_at", incoming_.request.sent_at()) : 0;
  const std::int64_t steady_ms =
      check.number("sent_steady_ms", incoming_.request.sent_steady_ms(), 0, limits::kMaxTimeMs);
  const auto refusal = check.ok() ? bounds::check(body) : check.error();
  if (refusal) {
    {
      const MutexLock lock(mutex_);
      phase_.reading = false;
    }
    return settle(sequence, refusal);
  }
  incoming_.input = Input{0, "", actor_, std::move(body)};
  incoming_.input->session = incoming_.session;
  if (sent_at_ms != 0) {
    incoming_.input->time_ms = runtime_.now_ms();
    const TimeMs shows_ms = incoming_.clock.shows_ms(sent_at_ms, steady_ms, runtime_.boot_ms());
    incoming_.input->said_at_ms = std::max<TimeMs>(shows_ms, 1);
  }
  submit();
}

void ObserveStream::submit() {
  const auto self = shared_from_this();
  const std::uint64_t sequence = incoming_.last_sequence;
  // post() takes the input even when it refuses; so it gets a copy.
  if (runtime_.post(*incoming_.input,
                    [self, sequence](const Reply& r) { self->settle(sequence, r.error); })) {
    incoming_.input.reset();
    {
      const MutexLock lock(mutex_);
      phase_.reading = false;
    }
    return read_more();
  }
  if (runtime_.stats().failed) return close(shutting_down());
  {
    const MutexLock lock(mutex_);
    if (phase_.closing) return;
  }
  run_later(kMailboxRetry, [self] { self->submit(); });
}

// Replies arrive in the order of the posts. An event refused at the edge may be settled before
// older ones.
void ObserveStream::settle(std::uint64_t sequence, std::optional<Error> error) {
  if (error && error->field == "session") observers_.count_stale();
  {
    const MutexLock lock(mutex_);
    const auto it =
        std::lower_bound(pending_.begin(), pending_.end(), sequence,
                         [](const Pending& p, std::uint64_t s) { return p.sequence < s; });
    it->done = true;
    it->error = std::move(error);
  }
  advance();
  read_more();
}

void ObserveStream::collect_locked(v1::ObserveResponse* ack) {
  ack->Clear();
  while (!pending_.empty() && pending_.front().done) {
    ack->set_acknowledged_sequence(pending_.front().sequence);
    if (pending_.front().session != 0 && !pending_.front().error) {
      ack->set_session(pending_.front().session);
    }
    if (pending_.front().error) {
      auto* error = ack->add_errors();
      error->set_sequence(pending_.front().sequence);
      *error->mutable_status() = to_rpc(*pending_.front().error);
    }
    pending_.pop_front();
  }
}

void ObserveStream::advance() {
  bool finish = false;
  {
    const MutexLock lock(mutex_);
    if (phase_.writing || phase_.closing) return;
    if (!pending_.empty() && pending_.front().done) {
      collect_locked(&ack_);
      phase_.writing = true;
      StartWrite(&ack_);
    } else if (phase_.no_more && pending_.empty()) {
      finish = phase_.closing = phase_.finished = true;
    }
  }
  if (finish) Finish(grpc::Status::OK);
}

void ObserveStream::OnWriteDone(bool ok) {
  bool finish = false;
  {
    const MutexLock lock(mutex_);
    phase_.writing = false;
    if (!ok && !phase_.closing) {
      phase_.closing = true;
      status_ = grpc::Status(grpc::StatusCode::CANCELLED, "the sender is gone");
    }
    if (phase_.closing && !phase_.finished) finish = phase_.finished = true;
  }
  if (finish) return Finish(status_);
  advance();
  read_more();
}

}  // namespace subak::api
