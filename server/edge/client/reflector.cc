#include "server/edge/client/reflector.h"

#include <algorithm>
#include <utility>

#include "core/edge_limits.h"
#include "core/error.h"
#include "core/limits.h"
#include "core/must.h"
#include "kube/json.h"

namespace subak {
namespace {

constexpr std::int64_t kGone = 410;

// The token of a page is base64 without padding, but the API does not guarantee that.
std::string escaped(std::string_view text) {
  constexpr std::string_view kPlain = "-._~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      (out += '%') += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
  return out;
}

CallAnswer no_list(std::string why) { return {Outcome::kUnknown, "", std::move(why), 0}; }

}  // namespace

void Reflector::Stream::open(std::string path, std::int64_t now_ms, WatchStream::Take take,
                             KubeApi::Ended ended) {
  must(id_ == 0, "a list or watch begins when the last one has ended");
  opened_ms_ = now_ms;
  heard_ = false;
  id_ = api_.watch(std::move(path), std::move(take), std::move(ended));
}

void Reflector::Stream::stop() {
  if (id_ != 0) api_.stop(std::exchange(id_, 0));
}

bool Reflector::Stream::ended() {
  id_ = 0;
  return std::exchange(expired_, false);
}

Reflector::Reflector(KubeApi& api, std::string path, ReflectorSink sink, Paces paces,
                     MonotonicMs now)
    : api_(api),
      path_(std::move(path)),
      sink_(std::move(sink)),
      paces_(paces),
      now_(std::move(now)),
      stream_(api),
      ends_(path_) {}

void Reflector::start() { wait_ms(0); }

void Reflector::turn() {
  if (state_ == State::kWatches && stream_.heard() && stream_.is_old(now_())) ends_.settle();
  if (state_ != State::kWaits || due_in() > 0) return;
  const std::int64_t now = now_();
  pace().note(now);
  if (pages_.has_next()) return ask_page();
  version_.empty() ? begin_list(now) : begin_watch(now);
}

DurationMs Reflector::due_in() const {
  if (state_ != State::kWaits) return limits::kMaxEdgeRetryMs;
  const std::int64_t now = now_();
  return std::clamp<DurationMs>(std::max(due_ms_ - now, pace().due_in(now)), 0,
                                limits::kMaxEdgeRetryMs);
}

void Reflector::begin_list(std::int64_t now_ms) {
  ++lists_;
  pages_.begin();
  sink_.begin();
  if (in_pages_) return ask_page();
  open(State::kStreams, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", now_ms);
}

void Reflector::begin_watch(std::int64_t now_ms) {
  open(State::kWatches, "&resourceVersion=" + version_, now_ms);
}

void Reflector::open(State state, const std::string& query, std::int64_t now_ms) {
  state_ = state;
  stream_.open(
      path_ + before_query() + "watch=1&allowWatchBookmarks=true" + query +
          "&timeoutSeconds=" + std::to_string(limits::kWatchLifeS),
      now_ms, [this](const WatchEvent& event) { take(event); },
      [this](const CallAnswer& answer) { ended(answer); });
}

void Reflector::ask_page() {
  state_ = State::kPages;
  KubeCall call;
  const std::string token = pages_.take_next();
  const std::size_t most = token.empty() ? limits::kListPageObjects : limits::kLaterPageObjects;
  call.path = path_ + before_query() + "limit=" + std::to_string(most);
  if (!token.empty()) call.path += "&continue=" + escaped(token);
  const bool asked =
      api_.call(std::move(call), [this, alive = std::weak_ptr<const bool>(alive_)](
                                     const CallAnswer& answer, std::string_view body) {
        if (alive.expired()) return;  // the session ended before the answer came
        if (answer.outcome == Outcome::kDone) return take_page(body);
        wait(answer);
      });
  if (!asked) wait({Outcome::kLater, "", "too many calls are under way", 0});
}

void Reflector::take_page(std::string_view body) {
  simdjson::dom::parser parser;
  json::Value root;
  if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS) {
    return wait(no_list(body.empty() ? "the list is empty, want JSON from an API server"
                                     : "the list is \"" + cut_text(body) +
                                           "\", want JSON from an API server"));
  }
  const Result<ListPage> page = read_list_page(root);
  if (!page) return wait(no_list(page.error().message()));
  if (!pages_.follow(page->next)) {
    return wait(no_list("the list does not end: its token of the next page repeats, is over " +
                        std::to_string(limits::kMaxContinueBytes) + " bytes, or comes after " +
                        std::to_string(limits::kMaxListPages) + " pages"));
  }
  WatchEvent event;
  event.kind = WatchKind::kAdded;
  if (page->items) {
    json::each_item(*page->items, [&](std::size_t, json::Value object) {
      event.object = object;
      sink_.object(event);
    });
  }
  if (pages_.has_next()) return do_next();
  version_ = page->resource_version;
  finish_list();
  if (state_ == State::kPages) do_next();
}

// Begins the next request at once, unless a pace delays it.
void Reflector::do_next() {
  wait_ms(0);
  turn();
}

// The watch of a streamed list continues by itself.
void Reflector::finish_list() {
  if (sink_.complete()) {
    listed_ = true;
    heard();
    if (state_ == State::kStreams) state_ = State::kWatches;
    return;
  }
  version_.clear();
  stream_.stop();
  wait_ms(ends_.rejected());
}

void Reflector::take(const WatchEvent& event) {
  if (event.kind == WatchKind::kError) {
    if (event.code == kGone) stream_.note_expired();
    return;
  }
  if (state_ == State::kWatches) {
    heard();
    version_ = event.resource_version;
    if (sink_.alive) sink_.alive();
  }
  if (event.kind != WatchKind::kBookmark) return sink_.object(event);
  if (state_ != State::kStreams || !event.list_complete) return;
  version_ = event.resource_version;
  finish_list();
}

void Reflector::heard() {
  stream_.note_heard();
  ends_.heard();
}

void Reflector::ended(const CallAnswer& answer) {
  const bool sound = stream_.heard() || answer.outcome == Outcome::kDone;
  if (state_ == State::kWatches && sound && stream_.is_old(now_())) ends_.settle();
  const bool wrong = answer.outcome == Outcome::kInvalid || answer.outcome == Outcome::kRefused;
  CallAnswer end = answer;
  if (state_ == State::kStreams && wrong) {
    in_pages_ = true;
    end.outcome = Outcome::kInvalid;  // pages may be allowed
  }
  if (stream_.ended()) end.outcome = Outcome::kExpired;
  wait(end);
}

void Reflector::wait(const CallAnswer& answer) {
  pages_.drop();
  if (answer.outcome == Outcome::kExpired) version_.clear();
  wait_ms(ends_.ended(answer));
}

void Reflector::wait_ms(DurationMs pause) {
  state_ = State::kWaits;
  due_ms_ = now_() + pause;
}

}  // namespace subak
