// Follows all objects of one kind, until it is destroyed. The reflector first requests a list, as a
// stream or in pages, and then watches from the version of the list. The sink may miss states
// between two requests, but it gets the present state of each object. The sink also learns which
// objects were deleted while no watch was open. A Reflector is similar to the Reflector of
// client-go (tools/cache), but it has no store.
//
// The server may end a list or a watch, and the reflector decides when it requests the next one.
// After a watch that was open for limits::kSteadyWatchMs, it requests the next watch at once. After
// a shorter watch or a failure it waits. Each further short watch or failure doubles the wait
// (end_history.h).
// Whatever the server answers, RequestPaces limit the number of requests (docs/design/0076).
// Threads: only the thread of the client's turn().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/edge_limits.h"
#include "core/quantity.h"
#include "server/edge/client/client.h"
#include "server/edge/client/end_history.h"
#include "server/edge/client/list_pages.h"
#include "server/edge/client/request_pace.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// Receives the objects of one kind. The functions are called during turn() of the reflector or of
// the client.
struct ReflectorSink {
  // A list begins. `object` is then called for each object that exists. After that, `complete` is
  // called, unless the list fails. Objects for which `object` was not called are gone.
  std::function<void()> begin;
  // An object is in the list, or was added, modified or deleted. The event is valid only during the
  // call.
  std::function<void(const WatchEvent&)> object;
  // The watch has sent an event or a bookmark, so all earlier changes are known. This function may
  // be null.
  std::function<void()> alive;
  // The list is complete. If the function returns false, the sink rejects the list, and the
  // reflector requests a new list after a pause.
  std::function<bool()> complete;
};

// Follows one collection. The reflector owns the open list or watch, and the history of earlier
// lists and watches.
class Reflector {
 public:
  // Returns the time of a clock that never goes back, in ms.
  using MonotonicMs = std::function<std::int64_t()>;
  // Limits on requests to the server. The limits outlive the reflector, so that the requests of the
  // next reflector are limited too.
  struct Paces {
    // The limit on lists and watches of this kind of objects.
    RequestPace& begins;
    // The limit on pages of lists after the first page, for all kinds of objects together.
    RequestPace& pages;
  };
  // `path`: the path of the collection, such as "/api/v1/pods"; a query may follow. `api` must
  // outlive the reflector.
  // If the answer to a request for a page comes after the reflector was destroyed, the answer has
  // no effect.
  Reflector(KubeApi& api, std::string path, ReflectorSink sink, Paces paces, MonotonicMs now);
  // Stops the open list or watch. The sink gets no further calls.
  ~Reflector() = default;
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Makes the first list due at once. Call it once, before the first turn().
  void start();
  // Begins the next list, page or watch if it is due. Call it in each turn of the edge.
  void turn();
  // Returns the time until turn() has work, at most limits::kMaxEdgeRetryMs.
  DurationMs due_in() const;
  // True once a list was complete and accepted by the sink.
  bool listed() const { return listed_; }
  // True if the sink is up to date, or nearly so. A list was accepted, and there was at most one
  // end since the server last sent a list or an event. In addition, ends_early() and pauses() are
  // false.
  bool synced() const { return listed_ && ends_.heard_lately() && !ends_early() && !pauses(); }
  // True if the server ends lists and watches without an error, but as soon as they begin. error()
  // says so.
  bool ends_early() const { return ends_.ends_early(); }
  // True if the watch is open, so that changes arrive when they happen.
  bool watches() const { return state_ == State::kWatches; }
  // The resource version up to which the sink has all changes. Empty: there is no such version,
  // because no list was accepted or because the version became too old.
  const std::string& version() const { return version_; }
  // The number of lists begun so far.
  std::uint64_t lists() const { return lists_; }
  // True if the server's last answer was that it has no such collection, or that Subak may not read
  // it.
  bool absent() const { return ends_.absent(); }
  // The last error, which begins with the path; empty: there is none. A list that the sink accepts,
  // and an event of a watch, clear the error (EndHistory::error()).
  const std::string& error() const { return ends_.error(); }

 private:
  // kOff: start() was not called. kWaits: no request is open, and the next one waits until it is
  // due. kStreams: a streamed list is open. kPages: a page of a list was requested. kWatches: the
  // watch is open.
  enum class State : std::uint8_t { kOff, kWaits, kStreams, kPages, kWatches };

  // The streamed list or watch that is open, if there is one. At most one is open at a time. The
  // destructor stops it.
  class Stream {
   public:
    explicit Stream(KubeApi& api) : api_(api) {}
    ~Stream() { stop(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Opens a stream. No other stream may be open.
    void open(std::string path, std::int64_t now_ms, WatchStream::Take take, KubeApi::Ended ended);
    // Stops the open stream without a call of its `ended`. Does nothing if none is open.
    void stop();
    // Records that the server has ended the stream. Returns true if the server had said before the
    // end that the version is too old.
    bool ended();
    // Records that the server has sent a list or an event on this stream.
    void note_heard() { heard_ = true; }
    // Records that the server has sent the error 410 on this stream.
    void note_expired() { expired_ = true; }
    // True if note_heard() was called since the stream was opened.
    bool heard() const { return heard_; }
    // True if the stream was opened at least limits::kSteadyWatchMs ago.
    bool is_old(std::int64_t now_ms) const { return now_ms - opened_ms_ >= limits::kSteadyWatchMs; }

   private:
    KubeApi& api_;
    // The open stream; 0: none.
    KubeApi::WatchId id_ = 0;
    // When the stream was opened, by the monotonic clock.
    std::int64_t opened_ms_ = 0;
    // The result of heard().
    bool heard_ = false;
    // True: the server has said that the version is too old. The value stays true until ended()
    // returns it, even after stop().
    bool expired_ = false;
  };

  void begin_list(std::int64_t now_ms);
  void begin_watch(std::int64_t now_ms);
  // Opens a streamed list or a watch, and sets the state. `query`: a part of the query for this
  // request.
  void open(State state, const std::string& query, std::int64_t now_ms);
  void ask_page();
  void take_page(std::string_view body);
  void finish_list();
  void do_next();
  void take(const WatchEvent& event);
  // True during a pause that follows at least limits::kShortWatchesTold ends
  // (EndHistory::is_long()).
  bool pauses() const { return state_ == State::kWaits && ends_.is_long(); }
  void heard();
  void ended(const CallAnswer& answer);
  void wait(const CallAnswer& answer);
  void wait_ms(DurationMs pause);
  // Returns the character to write between the path and a further part of the query: "?" or "&".
  const char* before_query() const { return path_.find('?') == std::string::npos ? "?" : "&"; }
  // Returns the limit that applies to the next request.
  RequestPace& pace() const { return pages_.has_next() ? paces_.pages : paces_.begins; }

  KubeApi& api_;
  const std::string path_;
  const ReflectorSink sink_;
  const Paces paces_;
  const MonotonicMs now_;
  State state_ = State::kOff;
  Stream stream_;
  ListPages pages_;
  EndHistory ends_;
  // In state kWaits: when the next request may begin.
  std::int64_t due_ms_ = 0;
  // The version from which the next watch begins; empty: a list comes before the next watch.
  std::string version_;
  // True: the sink has accepted at least one list.
  bool listed_ = false;
  // True: the server cannot stream lists, so the reflector requests pages.
  bool in_pages_ = false;
  // The number of lists begun.
  std::uint64_t lists_ = 0;
  // Expires when the reflector is destroyed. A late answer to a request for a page then has no
  // effect.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace subak
