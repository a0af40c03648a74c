#include "server/api/static_stream.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/limits.h"
#include "server/api/convert.h"

namespace subak::api {
namespace {

constexpr std::size_t kAccountsPerPart = 1000;

bool changes_static(const Fact& fact) {
  return std::holds_alternative<fact::AccountSet>(fact.body) ||
         std::holds_alternative<fact::AccountDeleted>(fact.body) ||
         std::holds_alternative<fact::ClusterSet>(fact.body) ||
         std::holds_alternative<fact::ClusterRemoved>(fact.body) ||
         std::holds_alternative<fact::ClusterSynced>(fact.body) ||
         std::holds_alternative<fact::NamespaceLabelled>(fact.body) ||
         std::holds_alternative<fact::NodeSet>(fact.body) ||
         std::holds_alternative<fact::NodeRemoved>(fact.body);
}

std::shared_ptr<const StaticCopy> copy_of(const View& view) {
  std::vector<v1::StaticResponse> parts(1);
  std::size_t in_part = 0;
  for (const AccountsView::Row* row : view.accounts->accounts()) {
    if (in_part++ == kAccountsPerPart) {
      parts.emplace_back();
      in_part = 1;
    }
    put(row->spec, row->revision, parts.back().add_accounts());
  }
  for (const ClusterView& cluster : *view.clusters) put(cluster, parts.back().add_clusters());
  for (auto& part : parts) part.set_sequence(view.seq);
  parts.front().set_begins(true);
  parts.back().set_complete(true);
  auto copy = std::make_shared<StaticCopy>();
  for (auto& part : parts) {
    copy->push_back(std::make_shared<const v1::StaticResponse>(std::move(part)));
  }
  return copy;
}

}  // namespace

StaticStream::StaticStream(StreamSet& set, StaticHub& hub)
    : QueueWriter(set, limits::kMaxAccounts), hub_(hub) {}

void StaticStream::ended() { hub_.remove(this); }

void StaticStream::offer(std::shared_ptr<const StaticCopy> copy) {
  {
    const std::scoped_lock lock(copy_mutex_);
    next_ = std::move(copy);
  }
  if (idle()) send();
}

bool StaticStream::holds(const StaticCopy* copy) {
  const std::scoped_lock lock(copy_mutex_);
  return sent_.get() == copy || next_.get() == copy;
}

void StaticStream::drained() {
  {
    const std::scoped_lock lock(copy_mutex_);
    if (idle()) sent_ = nullptr;  // else the next one is under way already
  }
  send();
}

// Both offer() and drained() may come here at once.
// A copy is taken by one of them and pushed whole.
void StaticStream::send() {
  const std::scoped_lock lock(copy_mutex_);
  if (next_ == nullptr) return;
  sent_ = std::exchange(next_, nullptr);
  for (const auto& part : *sent_) push(part);
}

void StaticHub::add(const std::shared_ptr<StaticStream>& stream) {
  const std::scoped_lock lock(mutex_);
  streams_.push_back(stream);
  open_ = streams_.size();
}

void StaticHub::remove(const StaticStream* stream) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(streams_, [&](const auto& s) { return s.get() == stream; });
  open_ = streams_.size();
}

void StaticHub::on_durable(const Released& batch) {
  if (open_ == 0 || batch.facts == nullptr) return;
  if (std::any_of(batch.facts->begin(), batch.facts->end(), changes_static)) ask();
}

bool StaticHub::ask() {
  {
    const std::scoped_lock lock(mutex_);
    if (asked_) return true;
    asked_ = true;
  }
  const Queued queued =
      follower_.read_dear("static", [this](const Engine& engine) { send(engine); });
  if (queued == Queued::kYes) return true;
  const std::scoped_lock lock(mutex_);
  asked_ = false;
  return false;
}

void StaticHub::send(const Engine& engine) {
  std::vector<std::shared_ptr<StaticStream>> streams;
  {
    const std::scoped_lock lock(mutex_);
    streams = streams_;
    asked_ = false;
  }
  if (streams.empty()) return;
  const std::shared_ptr<const StaticCopy> copy = copy_of(*engine.view());
  for (const auto& stream : streams) stream->offer(copy);
  copies_.push_back(copy);
  end_slowest(streams);
}

// Each copy is as large as the tree: whoever sits on an old one is ended.
void StaticHub::end_slowest(const std::vector<std::shared_ptr<StaticStream>>& streams) {
  std::erase_if(copies_, [](const auto& kept) { return kept.expired(); });
  while (copies_.size() > limits::kMaxStaticCopies) {
    const std::shared_ptr<const StaticCopy> oldest = copies_.front().lock();
    copies_.pop_front();
    for (const auto& stream : streams) {
      if (oldest == nullptr || !stream->holds(oldest.get())) continue;
      stream->close(to_status(busy("the memory for " + std::to_string(limits::kMaxStaticCopies) +
                                   " copies of the accounts")));
    }
  }
}

}  // namespace subak::api
