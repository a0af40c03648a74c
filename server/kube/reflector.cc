#include "server/kube/reflector.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "kube/json.h"

namespace subak {
namespace {

constexpr std::int64_t kGone = 410;

// The token of a page is base64 without padding, but nobody promises that.
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

}  // namespace

Reflector::Reflector(KubeApi& api, std::string path, ReflectorSink sink, MonotonicMs now)
    : api_(api), path_(std::move(path)), sink_(std::move(sink)), now_(std::move(now)) {}

Reflector::~Reflector() {
  if (open_ != 0) api_.stop(open_);
}

void Reflector::start() {
  state_ = State::kWaits;
  due_ms_ = now_();
}

void Reflector::turn() {
  if (state_ != State::kWaits || now_() < due_ms_) return;
  version_.empty() ? begin_list() : watch();
}

DurationMs Reflector::due_in() const {
  if (state_ != State::kWaits) return limits::kMaxEdgeRetryMs;
  return std::clamp<DurationMs>(due_ms_ - now_(), 0, limits::kMaxEdgeRetryMs);
}

void Reflector::begin_list() {
  ++lists_;
  sink_.begin();
  pages_ ? ask_page("") : stream();
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

void Reflector::ask_page(const std::string& next) {
  state_ = State::kPages;
  KubeCall call;
  call.path = path_ + "?limit=" + std::to_string(limits::kListPageObjects);
  if (!next.empty()) call.path += "&continue=" + escaped(next);
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
    return wait({Outcome::kUnknown, "", "the list is no JSON", 0});
  }
  const Result<ListPage> page = read_list_page(root);
  if (!page) return wait({Outcome::kUnknown, "", page.error().message(), 0});
  WatchEvent event;
  event.kind = WatchKind::kAdded;
  if (page->items) {
    json::each_item(*page->items, [&](std::size_t, json::Value object) {
      event.object = object;
      sink_.object(event);
    });
  }
  if (!page->next.empty()) return ask_page(std::string(page->next));
  version_ = page->resource_version;
  finish_list();
  if (state_ == State::kPages) watch();
}

// The watch of a streamed list goes on by itself.
void Reflector::finish_list() {
  if (sink_.complete()) {
    listed_ = true;
    backoff_.reset();
    error_.clear();
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
    backoff_.reset();
    error_.clear();
    version_ = event.resource_version;
    if (sink_.alive) sink_.alive();
  }
  if (event.kind != WatchKind::kBookmark) return sink_.object(event);
  if (state_ != State::kStreams || !event.list_complete) return;
  version_ = event.resource_version;
  finish_list();
}

void Reflector::ended(const CallAnswer& answer) {
  open_ = 0;
  const bool wrong = answer.outcome == Outcome::kInvalid || answer.outcome == Outcome::kRefused;
  if (state_ == State::kStreams && wrong) pages_ = true;
  if (expired_ || answer.outcome == Outcome::kExpired) version_.clear();
  expired_ = false;
  wait(answer);
}

// A stream that ended in order goes on at once, but the second time without an event between.
void Reflector::wait(const CallAnswer& answer) {
  state_ = State::kWaits;
  const bool in_order = answer.outcome == Outcome::kDone && backoff_.tries() == 0;
  const DurationMs pause = backoff_.next();
  due_ms_ = now_() + (in_order ? 0 : std::max(pause, answer.delay_ms));
  if (answer.outcome != Outcome::kDone) error_ = answer.message;
  if (answer.outcome == Outcome::kExpired) version_.clear();
}

}  // namespace subak
