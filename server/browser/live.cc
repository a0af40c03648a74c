#include "server/browser/live.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "core/printable.h"
#include "server/api/common/browser_limits.h"
#include "server/log/thread_name.h"

namespace subak::browser {
namespace {

constexpr Topic kTopics[] = {
    {"sequence", "", ""},
    {"status", "/subak.v1.AdminService/GetStatus", "{}"},
    {"queue", "/subak.v1.JobService/ListQueue", R"({"pageSize":50})"},
    {"shares", "/subak.v1.AccountService/ListShares", R"({"accountsOnly":true,"pageSize":100})"},
    {"plan", "/subak.v1.ClusterService/GetPlan", "{}"},
};

std::string names() {
  std::string out;
  for (const Topic& topic : kTopics) {
    if (!out.empty()) out += ", ";
    out += topic.name;
  }
  return out;
}

TopicSet bit(std::size_t topic) { return TopicSet{1} << topic; }

HttpStream::Part part(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

HttpStream::Part event_of(const Topic& topic, const std::string& json, std::uint64_t id) {
  std::string data = json;
  if (json.size() > limits::kMaxLiveEventBytes) {
    data = R"({"tooLong":true,"method":")" + std::string(topic.method) + "\"}";
  }
  return part("event: " + std::string(topic.name) + "\nid: " + std::to_string(id) +
              "\ndata: " + data + "\n\n");
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? out : 0;
}

}  // namespace

std::span<const Topic> live_topics() { return kTopics; }

Result<TopicSet> parse_topics(std::string_view text) {
  TopicSet out = 0;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    const auto* const found =
        std::find_if(std::begin(kTopics), std::end(kTopics),
                     [name](const Topic& topic) { return topic.name == name; });
    if (found == std::end(kTopics)) {
      return Error{ErrorCode::kInvalid, "topics", printable(cut_text(name)),
                   "want one of " + names()};
    }
    out |= bit(static_cast<std::size_t>(found - std::begin(kTopics)));
  }
  if (out == 0) return Error{ErrorCode::kInvalid, "topics", "", "want some of " + names()};
  return out;
}

std::uint64_t parse_event_id(std::string_view text) { return number_of(text); }

Live::~Live() { stop(); }

void Live::start() {
  {
    const MutexLock lock(mutex_);
    running_ = true;
  }
  thread_ = std::thread([this] { work(); });
}

void Live::stop() {
  {
    const MutexLock lock(mutex_);
    running_ = false;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  const MutexLock lock(mutex_);
  for (const Open& open : open_) open.stream->end();
  open_.clear();
}

Result<std::shared_ptr<HttpStream>> Live::open(LiveReader reader) {
  const MutexLock lock(mutex_);
  std::erase_if(open_, [](const Open& one) { return one.stream->ended(); });
  const auto of_session = std::count_if(open_.begin(), open_.end(), [&reader](const Open& one) {
    return !reader.session.empty() && one.reader.session == reader.session;
  });
  if (static_cast<std::size_t>(of_session) >= limits::kMaxLiveStreamsPerSession) {
    return Error{ErrorCode::kExhausted, "live", "",
                 "this session has " + std::to_string(limits::kMaxLiveStreamsPerSession) +
                     " event streams; the tabs of a browser should share one"};
  }
  if (open_.size() >= limits::kMaxLiveStreams) {
    return Error{ErrorCode::kExhausted, "live", "",
                 "there are " + std::to_string(limits::kMaxLiveStreams) +
                     " event streams; try again later, or on another replica"};
  }
  auto stream = std::make_shared<HttpStream>(limits::kMaxLiveBacklogBytes);
  stream->send(part("retry: 2000\n\n"));
  open_.push_back({std::move(reader), stream, true, ports_.monotonic_ms()});
  return stream;
}

std::size_t Live::streams() const {
  const MutexLock lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      open_.begin(), open_.end(), [](const Open& one) { return !one.stream->ended(); }));
}

TopicSet Live::sweep() {
  TopicSet wanted = 0;
  for (const Open& open : open_) {
    if (!open.reader.may_read()) open.stream->end();
    if (!open.stream->ended()) wanted |= open.reader.topics;
  }
  std::erase_if(open_, [](const Open& one) { return one.stream->ended(); });
  return wanted;
}

void Live::take(std::size_t topic, std::string json, std::uint64_t sequence) {
  State& state = states_[topic];
  last_id_ = std::max(last_id_, sequence);
  if (state.event == nullptr) state.since = last_id_;
  state.id = last_id_;
  state.event = event_of(kTopics[topic], json, state.id);
  state.json = std::move(json);
}

// Forgets the topics that no browser wants, since the hub does not look for their changes.
TopicSet Live::read(TopicSet wanted) {
  const std::uint64_t sequence = ports_.sequence();
  const DurationMs now = ports_.monotonic_ms();
  const bool due = sequence != looked_sequence_ || now - looked_ms_ >= limits::kLiveIdleMs;
  if (due) {
    looked_sequence_ = sequence;
    looked_ms_ = now;
  }
  TopicSet changed = 0;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if ((wanted & bit(i)) == 0) {
      states_[i] = {};
      continue;
    }
    if (!due && states_[i].event != nullptr) continue;
    Answered got;
    got.json = R"({"sequence":")" + std::to_string(sequence) + "\"}";
    got.sequence = std::to_string(sequence);
    if (!kTopics[i].method.empty()) got = ports_.read(kTopics[i]);
    if (!got.status.ok()) continue;  // the next look tries again
    if (states_[i].event != nullptr && got.json == states_[i].json) continue;
    take(i, std::move(got.json), number_of(got.sequence));
    changed |= bit(i);
  }
  return changed;
}

bool Live::is_too_old(const Open& open) const {
  const std::uint64_t id = open.reader.last_id;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if ((open.reader.topics & bit(i)) == 0 || states_[i].event == nullptr) continue;
    if (id < states_[i].since || id > last_id_) return true;
  }
  return false;
}

void Live::send(Open& open, TopicSet changed, DurationMs now) {
  const bool returns = open.fresh && open.reader.last_id > 0;
  const bool reset = returns && is_too_old(open);
  if (reset) open.stream->send(part("event: reset\ndata: {}\n\n"));
  bool sent = reset;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if ((open.reader.topics & bit(i)) == 0 || states_[i].event == nullptr) continue;
    // Two changes may have one id, so a change with the browser's own id counts as unknown to it.
    const bool is_new = !open.fresh ? (changed & bit(i)) != 0
                                    : !returns || reset || states_[i].id >= open.reader.last_id;
    if (!is_new) continue;
    open.stream->send(states_[i].event);
    sent = true;
  }
  open.fresh = false;
  if (!sent && now - open.sent_ms >= limits::kLiveKeepAliveMs) {
    static const HttpStream::Part kEmpty = part(":\n\n");
    open.stream->send(kEmpty);
    sent = true;
  }
  if (sent) open.sent_ms = now;
}

// The reads run without the lock, since they may take long. A browser that comes meanwhile waits
// for the next look: it may want a topic that was not read.
void Live::look() {
  TopicSet wanted = 0;
  std::vector<std::shared_ptr<HttpStream>> known;
  {
    const MutexLock lock(mutex_);
    wanted = sweep();
    for (const Open& open : open_) known.push_back(open.stream);
  }
  const TopicSet changed = read(wanted);
  const DurationMs now = ports_.monotonic_ms();
  const MutexLock lock(mutex_);
  std::size_t next = 0;
  for (Open& open : open_) {
    while (next < known.size() && known[next] != open.stream) ++next;
    if (next == known.size()) return;
    send(open, changed, now);
  }
}

void Live::work() {
  name_thread("browser events");
  MutexLock lock(mutex_);
  while (running_) {
    lock.unlock();
    look();
    lock.lock();
    wake_.wait_for(lock, std::chrono::milliseconds(limits::kLiveEveryMs),
                   [this]() SUBAK_REQUIRES(mutex_) { return !running_; });
  }
}

}  // namespace subak::browser
