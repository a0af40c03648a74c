#include "server/edge/cache/outbox.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace subak {
namespace {

std::string_view name_of(const about::Pod& key) { return key.uid; }
std::string_view name_of(const about::Node& key) { return key.name; }
std::string_view name_of(const about::Namespace& key) { return key.name; }
std::string_view name_of(const about::Gang& key) { return key.owner; }
std::string_view name_of(const about::LatePods& key) { return key.first_uid; }
std::string_view name_of(const about::Owner& key) { return key.uid; }

}  // namespace

std::size_t about::KeyHash::operator()(const about::Key& key) const {
  const std::size_t name =
      std::visit([](const auto& of) { return std::hash<std::string_view>()(name_of(of)); }, key);
  return name * 31 + key.index();
}

void Outbox::clear() {
  queue_.clear();
  last_queue_.clear();
  waiting_.clear();
  put_back_.clear();
  unanswered_.clear();
}

Outbox::Waiting& Outbox::waiting(const about::Key& key) {
  const auto [at, is_new] = waiting_.try_emplace(key);
  if (is_new) queue_.push_back(key);
  return at->second;
}

void Outbox::pod_seen(const std::string& uid, const PodRecord& record) {
  waiting(about::Pod{uid}).pod = record;
}

void Outbox::node_seen(NodeSpec node) {
  Waiting& update = waiting(about::Node{node.name});
  update.change.reset();
  update.node = std::move(node);
}

void Outbox::changed(const about::Key& key, in::Body body, std::string clock) {
  Waiting& update = waiting(key);
  update.node.reset();
  update.change = std::move(body);
  update.clock = std::move(clock);
}

void Outbox::node_gone(const std::string& name, in::Body body, std::uint64_t after) {
  const about::Key key = about::Node{name};
  changed(key, std::move(body));
  waiting_.at(key).after = after;
  std::erase(queue_, key);
  if (std::find(last_queue_.begin(), last_queue_.end(), key) == last_queue_.end()) {
    last_queue_.push_back(key);
  }
}

bool Outbox::has_next(std::uint64_t pods_version) const {
  const auto may_go = [&](const about::Key& key) {
    return waiting_.at(key).may_go_at(pods_version);
  };
  return !put_back_.empty() || !queue_.empty() ||
         std::any_of(last_queue_.begin(), last_queue_.end(), may_go);
}

std::optional<News> Outbox::next(std::uint64_t pods_version) {
  std::optional<News> news = take_next(pods_version);
  if (news && !news->uid.empty()) ++unanswered_[news->uid];
  return news;
}

std::optional<News> Outbox::take_next(std::uint64_t pods_version) {
  if (!put_back_.empty()) {
    News news = std::move(put_back_.front());
    put_back_.pop_front();
    return news;
  }
  const auto may_go = [&](const about::Key& key) {
    return waiting_.at(key).may_go_at(pods_version);
  };
  std::deque<about::Key>& queue = queue_.empty() ? last_queue_ : queue_;
  const auto at = std::find_if(queue.begin(), queue.end(), may_go);
  if (at == queue.end()) return std::nullopt;
  const about::Key key = *at;
  Waiting& update = waiting_.at(key);
  News out;
  if (const auto* const pod = std::get_if<about::Pod>(&key)) out.uid = pod->uid;
  if (const auto* const owner = std::get_if<about::Owner>(&key)) out.uid = owner->uid;
  if (update.pod) {
    out.clock = update.pod->node;
    out.body = in::PodSeen{cluster_, std::move(*update.pod)};
    update.pod.reset();
    if (update.change) return out;
  } else if (update.node) {
    out.body = in::NodeSeen{cluster_, std::move(*update.node)};
  } else {
    out.clock = update.clock;
    out.body = std::move(*update.change);
  }
  waiting_.erase(key);
  queue.erase(at);
  return out;
}

void Outbox::put_back(News news) {
  answered(news.uid);
  put_back_.push_front(std::move(news));
}

void Outbox::answered(const std::string& uid) {
  const auto at = unanswered_.find(uid);
  if (at != unanswered_.end() && --at->second == 0) unanswered_.erase(at);
}

bool Outbox::is_answered(const std::string& uid) const {
  return !unanswered_.contains(uid) && !has_pod(uid) &&
         std::none_of(put_back_.begin(), put_back_.end(),
                      [&](const News& news) { return news.uid == uid; });
}

}  // namespace subak
