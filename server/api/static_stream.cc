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
         std::holds_alternative<fact::ClusterSynced>(fact.body) ||
         std::holds_alternative<fact::NodeSet>(fact.body) ||
         std::holds_alternative<fact::NodeRemoved>(fact.body);
}

std::vector<v1::StaticResponse> copy_of(const View& view) {
  std::vector<v1::StaticResponse> parts(1);
  std::size_t in_part = 0;
  for (const AccountsView::Row& row : view.accounts->rows) {
    if (in_part++ == kAccountsPerPart) {
      parts.emplace_back();
      in_part = 1;
    }
    put(row.spec, row.revision, parts.back().add_accounts());
  }
  for (const ClusterView& cluster : *view.clusters) put(cluster, parts.back().add_clusters());
  for (auto& part : parts) part.set_sequence(view.seq);
  parts.front().set_begins(true);
  parts.back().set_complete(true);
  return parts;
}

}  // namespace

StaticStream::StaticStream(StreamSet& set, StaticHub& hub)
    : QueueWriter(set, limits::kMaxAccounts), hub_(hub) {}

void StaticStream::ended() { hub_.remove(this); }

void StaticStream::offer(std::shared_ptr<const View> view) {
  {
    const std::scoped_lock lock(view_mutex_);
    next_ = std::move(view);
  }
  if (idle()) send();
}

// Both offer() and drained() may come here at once; a copy is taken by one of them and pushed
// whole.
void StaticStream::send() {
  const std::scoped_lock lock(view_mutex_);
  if (next_ == nullptr) return;
  const auto view = std::exchange(next_, nullptr);
  for (auto& part : copy_of(*view)) push(std::move(part));
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
  if (follower_.read([this](const Engine& engine) { send(engine); })) return true;
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
  const std::shared_ptr<const View> view = engine.view();
  for (const auto& stream : streams) stream->offer(view);
}

}  // namespace subak::api
