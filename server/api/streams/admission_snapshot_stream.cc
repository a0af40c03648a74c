#include "server/api/streams/admission_snapshot_stream.h"

#include <algorithm>
#include <utility>

#include "core/account_limits.h"
#include "core/limits.h"
#include "server/api/convert/admission_snapshot.h"

namespace subak::api {
namespace {

std::shared_ptr<const AdmissionSnapshot> copy_of(const View& view, const AdmissionConfig& config) {
  auto copy = std::make_shared<AdmissionSnapshot>();
  for (v1::StaticResponse& part : admission_snapshot_parts(view, config)) {
    copy->push_back(std::make_shared<const v1::StaticResponse>(std::move(part)));
  }
  return copy;
}

}  // namespace

AdmissionSnapshotStream::AdmissionSnapshotStream(StreamSet& set, AdmissionSnapshotHub& hub)
    : QueueWriter(set, limits::kMaxAccounts), hub_(hub) {}

void AdmissionSnapshotStream::ended() { hub_.remove(this); }

void AdmissionSnapshotStream::offer(std::shared_ptr<const AdmissionSnapshot> copy) {
  {
    const MutexLock lock(copy_mutex_);
    next_ = std::move(copy);
  }
  if (idle()) send();
}

bool AdmissionSnapshotStream::holds(const AdmissionSnapshot* copy) {
  const MutexLock lock(copy_mutex_);
  return sent_.get() == copy || next_.get() == copy;
}

void AdmissionSnapshotStream::drained() {
  {
    const MutexLock lock(copy_mutex_);
    if (idle()) sent_ = nullptr;  // else the next one is already being sent
  }
  send();
}

// Both offer() and drained() may call this at once. One of them takes a copy and pushes it
// completely.
void AdmissionSnapshotStream::send() {
  const MutexLock lock(copy_mutex_);
  if (next_ == nullptr) return;
  sent_ = std::exchange(next_, nullptr);
  for (const auto& part : *sent_) push(part);
}

void AdmissionSnapshotHub::add(const std::shared_ptr<AdmissionSnapshotStream>& stream) {
  const MutexLock lock(mutex_);
  streams_.push_back(stream);
  open_ = streams_.size();
}

void AdmissionSnapshotHub::remove(const AdmissionSnapshotStream* stream) {
  const MutexLock lock(mutex_);
  std::erase_if(streams_, [&](const auto& s) { return s.get() == stream; });
  open_ = streams_.size();
}

// Runs also without streams: a later stream compares with the copy that was sent first.
void AdmissionSnapshotHub::on_durable(const Released& batch) {
  std::shared_ptr<const View> last;
  {
    const MutexLock lock(mutex_);
    last = std::exchange(last_, batch.view);
  }
  if (open_ == 0 || batch.view == nullptr) return;
  if (owed_ || last == nullptr || !is_same_admission_snapshot(*last, *batch.view)) owed_ = !ask();
}

bool AdmissionSnapshotHub::ask() {
  {
    const MutexLock lock(mutex_);
    if (asked_) return true;
    asked_ = true;
  }
  const Queued queued =
      follower_.read_expensive("static", [this](const Engine& engine) { send(engine); });
  if (queued == Queued::kYes) return true;
  const MutexLock lock(mutex_);
  asked_ = false;
  return false;
}

// Uses the loop's View, since some data of the webhook are not facts. Before the first batch they
// are unknown.
void AdmissionSnapshotHub::send(const Engine& engine) {
  std::vector<std::shared_ptr<AdmissionSnapshotStream>> streams;
  std::shared_ptr<const View> view;
  {
    const MutexLock lock(mutex_);
    streams = streams_;
    view = last_;
    asked_ = false;
  }
  if (streams.empty()) return;
  const std::shared_ptr<const AdmissionSnapshot> copy =
      copy_of(view ? *view : *engine.view(), config_);
  for (const auto& stream : streams) stream->offer(copy);
  copies_.push_back(copy);
  end_slowest(streams);
}

// Ends the streams that still hold an old copy: each copy is as large as the tree.
void AdmissionSnapshotHub::end_slowest(
    const std::vector<std::shared_ptr<AdmissionSnapshotStream>>& streams) {
  std::erase_if(copies_, [](const auto& kept) { return kept.expired(); });
  while (copies_.size() > limits::kMaxAdmissionSnapshots) {
    const std::shared_ptr<const AdmissionSnapshot> oldest = copies_.front().lock();
    copies_.pop_front();
    for (const auto& stream : streams) {
      if (oldest == nullptr || !stream->holds(oldest.get())) continue;
      stream->close(
          to_status(busy("the memory for " + std::to_string(limits::kMaxAdmissionSnapshots) +
                         " copies of the accounts")));
    }
  }
}

}  // namespace subak::api
