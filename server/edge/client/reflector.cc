#include "server/edge/client/reflector.h"

#include <algorithm>
#include <utility>

#include "core/cut.h"
#include "core/duration.h"
#include "core/edge_limits.h"
#include "core/limits.h"
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

Reflector::Reflector(KubeApi& api, std::string path, ReflectorSink sink, Paces paces,
                     MonotonicMs now)
    : api_(api),
      path_(std::move(path)),
      sink_(std::move(sink)),
      paces_(paces),
      now_(std::move(now)) {}

Reflector::~Reflector() {
  if (open_ != 0) api_.stop(open_);
}

void Reflector::start() {
  state_ = State::kWaits;
  due_ms_ = now_();
}

void Reflector::turn() {
  if (state_ == State::kWatches && heard_ && is_old()) settle();
  if (state_ != State::kWaits || due_in() > 0) return;
  const bool begins = page_.empty();
  (begins ? paces_.begins : paces_.pages).note(now_());
  if (!begins) return ask_page();
  opened_ms_ = now_();
  heard_ = false;
  version_.empty() ? begin_list() : watch();
}

DurationMs Reflector::due_in() const {
  if (state_ != State::kWaits) return limits::kMaxEdgeRetryMs;
  const std::int64_t now = now_();
  const RequestPace& pace = page_.empty() ? paces_.begins : paces_.pages;
  return std::clamp<DurationMs>(std::max(due_ms_ - now, pace.due_in(now)), 0,
                                limits::kMaxEdgeRetryMs);
}

void Reflector::begin_list() {
  ++lists_;
  tokens_.clear();
  sink_.begin();
  pages_ ? ask_page() : stream();
}

void Reflector::stream() {
  state_ = State::kStreams;
  open_ = api_.watch(
      path_ +
          "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
          "&resourceVersionMatch=NotOlderThan&timeoutSeconds=" +
          std::to_string(limits::kWatchLifeS),
      [this](const WatchEvent& event) { take(event); },
      [this](const CallAnswer& answer) { ended(answer); });
}

void Reflector::ask_page() {
  state_ = State::kPages;
  KubeCall call;
  const std::size_t most = page_.empty() ? limits::kListPageObjects : limits::kLaterPageObjects;
  call.path = path_ + "?limit=" + std::to_string(most);
  if (!page_.empty()) call.path += "&continue=" + escaped(std::exchange(page_, {}));
  const bool asked =
      api_.call(std::move(call), [this](const CallAnswer& answer, std::string_view body) {
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
  if (!page->next.empty() && !may_follow(page->next)) {
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
  page_ = page->next;
  if (!page_.empty()) return do_next();
  version_ = page->resource_version;
  finish_list();
  if (state_ == State::kPages) do_next();
}

bool Reflector::may_follow(std::string_view token) {
  return token.size() <= limits::kMaxContinueBytes && tokens_.size() + 1 < limits::kMaxListPages &&
         tokens_.emplace(token).second;
}

// Begins the next request at once, unless a pace delays it.
void Reflector::do_next() {
  state_ = State::kWaits;
  due_ms_ = now_();
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
  if (open_ != 0) api_.stop(std::exchange(open_, 0));
  state_ = State::kWaits;
  due_ms_ = now_() + backoff_.next();
}

void Reflector::watch() {
  state_ = State::kWatches;
  open_ = api_.watch(
      path_ + "?watch=1&allowWatchBookmarks=true&resourceVersion=" + version_ +
          "&timeoutSeconds=" + std::to_string(limits::kWatchLifeS),
      [this](const WatchEvent& event) { take(event); },
      [this](const CallAnswer& answer) { ended(answer); });
}

void Reflector::take(const WatchEvent& event) {
  if (event.kind == WatchKind::kError) {
    expired_ = expired_ || event.code == kGone;
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
  heard_ = true;
  unheard_ = 0;
  if (!ends_early()) error_.clear();
}

// The watch has stayed open: earlier failures no longer count.
void Reflector::settle() {
  backoff_.reset();
  early_ = 0;
  error_.clear();
}

void Reflector::ended(const CallAnswer& answer) {
  const bool sound = heard_ || answer.outcome == Outcome::kDone;
  if (state_ == State::kWatches && sound && is_old()) settle();
  open_ = 0;
  const bool wrong = answer.outcome == Outcome::kInvalid || answer.outcome == Outcome::kRefused;
  if (state_ == State::kStreams && wrong) pages_ = true;
  CallAnswer end = answer;
  if (std::exchange(expired_, false)) end.outcome = Outcome::kExpired;
  wait(end);
}

void Reflector::wait(const CallAnswer& answer) {
  state_ = State::kWaits;
  page_.clear();
  ++unheard_;
  const bool expired = answer.outcome == Outcome::kExpired;
  const bool in_order = answer.outcome == Outcome::kDone || expired;
  const bool first = backoff_.tries() == 0;
  const DurationMs pause = backoff_.next();
  due_ms_ = now_() + (in_order && first ? 0 : std::max(pause, answer.delay_ms));
  if (expired) version_.clear();
  early_ = in_order ? early_ + 1 : 0;
  if (ends_early()) {
    error_ = path_ + ": the server ends lists and watches as soon as they begin; each is asked " +
             "for again after a pause of up to " + format_duration(limits::kMaxEdgeRetryMs);
  } else if (!in_order) {
    error_ = path_ + ": " + answer.message;
  }
}

}  // namespace subak
