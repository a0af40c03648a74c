#include "server/api/streams/observe.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/limits.h"
#include "model/bounds.h"
#include "server/api/common/later.h"
#include "server/api/convert/convert.h"

namespace subak::api {
namespace {
constexpr auto kMailboxRetry = std::chrono::milliseconds(5);
}

void Observers::begin(const std::string& cluster) {
  const std::scoped_lock lock(mutex_);
  ++open_[cluster];
}

void Observers::end(const std::string& cluster) {
  const std::scoped_lock lock(mutex_);
  if (--open_[cluster] == 0) open_.erase(cluster);
}

std::map<std::string, std::size_t> Observers::read() const {
  const std::scoped_lock lock(mutex_);
  return open_;
}

bool Observers::any(const std::string& cluster, bool alone) const {
  const std::scoped_lock lock(mutex_);
  return open_.count(cluster) > 0 || (alone && open_.count("") > 0);
}

void Observers::reserve(const std::string& cluster) {
  const std::scoped_lock lock(mutex_);
  ours_.insert(cluster);
  ++open_[cluster];
}

bool Observers::ours(const std::string& cluster, bool alone) const {
  const std::scoped_lock lock(mutex_);
  if (ours_.contains(cluster)) return true;
  return alone && (cluster.empty() ? !ours_.empty() : ours_.contains(""));
}

Error follows_itself(const std::string& cluster) {
  return {
      ErrorCode::kPrecondition, "cluster", cluster,
      "the service follows this cluster itself, as its configuration says (kubeconfig, inCluster)"};
}

std::uint64_t Observers::next_session(const View& view) {
  const std::scoped_lock lock(mutex_);
  for (const ClusterView& c : *view.clusters) last_session_ = std::max(last_session_, c.session);
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
    const std::scoped_lock lock(mutex_);
    if (closing_) return;
    closing_ = true;
    status_ = status;
    if (writing_) return;  // OnWriteDone finishes
    finished_ = true;
  }
  Finish(status_);
}

void ObserveStream::OnDone() {
  if (last_sequence_ > 0) observers_.end(cluster_);
  set_.remove(self_);
  const auto last = std::move(self_);  // may destroy this on return
}

void ObserveStream::read_more() {
  {
    const std::scoped_lock lock(mutex_);
    if (closing_ || no_more_ || reading_ || pending_.size() >= limits::kMaxObserveInFlight) return;
    reading_ = true;
  }
  StartRead(&request_);
}

void ObserveStream::OnReadDone(bool ok) {
  if (ok) return take_event();
  {
    const std::scoped_lock lock(mutex_);
    reading_ = false;
    no_more_ = true;
  }
  advance();
}

std::optional<grpc::Status> ObserveStream::check_order() {
  Check check;
  if (request_.sequence() <= last_sequence_) {
    check.fail("sequence", std::to_string(request_.sequence()),
               "want more than " + std::to_string(last_sequence_));
  }
  const std::string cluster = check.name("cluster", request_.cluster(), false);
  if (last_sequence_ == 0) {
    cluster_ = cluster;
  } else if (!cluster.empty() && cluster != cluster_) {
    check.fail("cluster", cluster, "want one stream for each cluster");
  }
  check_session(check);
  if (!check.ok()) return to_status(check.error());
  const bool alone = runtime_.view()->clusters->size() == 1;
  if (observers_.ours(cluster_, alone)) return to_status(follows_itself(cluster_));
  if (last_sequence_ == 0) observers_.begin(cluster_);
  last_sequence_ = request_.sequence();
  return std::nullopt;
}

// The first event may continue a session that another stream began. A list begins a new session.
void ObserveStream::check_session(Check& check) {
  const std::uint64_t named = request_.session();
  if (last_sequence_ == 0 && named != 0) session_ = named;
  if (named != 0 && named != session_) {
    check.fail(
        "session", std::to_string(named),
        "want that of the stream: " + (session_ == kNoSession ? "none" : std::to_string(session_)));
  }
}

void ObserveStream::take_event() {
  if (const auto broken = check_order()) return close(*broken);
  const std::uint64_t sequence = request_.sequence();
  const bool begins = request_.has_list_begin();
  if (begins) session_ = observers_.next_session(*runtime_.view());
  {
    const std::scoped_lock lock(mutex_);
    pending_.push_back({sequence, begins ? session_ : 0, false, std::nullopt});
  }
  Check check;
  in::Body body = get_event(check, request_, cluster_);
  const TimeMs sent_at_ms = request_.has_sent_at() ? check.time("sent_at", request_.sent_at()) : 0;
  const std::int64_t steady_ms =
      check.number("sent_steady_ms", request_.sent_steady_ms(), 0, limits::kMaxTimeMs);
  const auto refusal = check.ok() ? bounds::check(body) : check.error();
  if (refusal) {
    {
      const std::scoped_lock lock(mutex_);
      reading_ = false;
    }
    return settle(sequence, refusal);
  }
  input_ = Input{0, "", actor_, std::move(body)};
  input_->session = session_;
  if (sent_at_ms != 0) {
    input_->time_ms = runtime_.now_ms();
    const TimeMs shows_ms = sender_clock_.shows_ms(sent_at_ms, steady_ms, runtime_.boot_ms());
    input_->said_at_ms = std::max<TimeMs>(shows_ms, 1);
  }
  submit();
}

void ObserveStream::submit() {
  const auto self = shared_from_this();
  const std::uint64_t sequence = last_sequence_;
  // post() takes the input even when it refuses; so it gets a copy.
  if (runtime_.post(*input_,
                    [self, sequence](const Reply& r) { self->settle(sequence, r.error); })) {
    input_.reset();
    {
      const std::scoped_lock lock(mutex_);
      reading_ = false;
    }
    return read_more();
  }
  if (runtime_.stats().failed) return close(shutting_down());
  {
    const std::scoped_lock lock(mutex_);
    if (closing_) return;
  }
  run_later(kMailboxRetry, [self] { self->submit(); });
}

// Replies arrive in the order of the posts. An event refused at the edge may be settled before
// older ones.
void ObserveStream::settle(std::uint64_t sequence, std::optional<Error> error) {
  if (error && error->field == "session") observers_.count_stale();
  {
    const std::scoped_lock lock(mutex_);
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
    const std::scoped_lock lock(mutex_);
    if (writing_ || closing_) return;
    if (!pending_.empty() && pending_.front().done) {
      collect_locked(&ack_);
      writing_ = true;
      StartWrite(&ack_);
    } else if (no_more_ && pending_.empty()) {
      finish = closing_ = finished_ = true;
    }
  }
  if (finish) Finish(grpc::Status::OK);
}

void ObserveStream::OnWriteDone(bool ok) {
  bool finish = false;
  {
    const std::scoped_lock lock(mutex_);
    writing_ = false;
    if (!ok && !closing_) {
      closing_ = true;
      status_ = grpc::Status(grpc::StatusCode::CANCELLED, "the sender is gone");
    }
    if (closing_ && !finished_) finish = finished_ = true;
  }
  if (finish) return Finish(status_);
  advance();
  read_more();
}

}  // namespace subak::api
