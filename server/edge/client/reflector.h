// Follows all objects of one kind, until it is destroyed: by a list, streamed or in pages, then by
// a watch from the version of the list. The sink gets at least the present state of each object. It
// also learns of objects that were deleted while no watch was open. A Reflector is similar to
// client-go's (tools/cache), but has no store.
//
// The server may end a list or a watch; the reflector decides when it requests the next one. After
// a watch of limits::kSteadyWatchMs it does so at once. After a shorter watch it waits, and each
// further short one doubles the wait. RequestPaces limit the number of requests, whatever the
// server answers (docs/design/0076). Threads: that of the client's turn().
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

// Receives the objects of one kind. The functions are called in turn() of the
// reflector and of the client.
struct ReflectorSink {
  // A list begins. A call of `object` follows for each existing object, then `complete`. Objects
  // that the list did not name are gone.
  std::function<void()> begin;
  // An object was ADDED, MODIFIED or DELETED. The event is valid only during the call.
  std::function<void(const WatchEvent&)> object;
  // The watch has sent an event or a bookmark: all earlier changes are known. May be null.
  std::function<void()> alive;
  // The list has ended. False: the sink rejects it, and the list is repeated after a pause.
  std::function<bool()> complete;
};

// Follows one collection. It owns the open list or watch, and the history of earlier ones.
class Reflector {
 public:
  // Returns a time in ms that never goes back.
  using MonotonicMs = std::function<std::int64_t()>;
  // Limits on requests to the server. They outlive the reflector, so that the next one continues
  // with them.
  struct Paces {
    // The limit on lists and watches of this kind.
    RequestPace& begins;
    // The limit on further pages of lists, of all kinds together.
    RequestPace& pages;
  };
  // `path`: the path of the collection, "/api/v1/pods". `api` outlives the reflector. If a page is
  // still requested when the reflector is destroyed, its answer does nothing.
  Reflector(KubeApi& api, std::string path, ReflectorSink sink, Paces paces, MonotonicMs now);
  // Stops the open list or watch, without a further call of the sink.
  ~Reflector() = default;
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Makes the first list due at once. Call it one time, before the first turn().
  void start();
  // Begins a list or watch that is due. Call in each turn.
  void turn();
  // Returns the time until turn() has work, at most limits::kMaxEdgeRetryMs.
  DurationMs due_in() const;
  // True once a list was completed.
  bool listed() const { return listed_; }
  // True if a list was completed and the watch is open, or was open a moment ago.
  bool synced() const { return listed_ && ends_.heard_lately() && !ends_early() && !pauses(); }
  // True if the server ends lists and watches in order as soon as they begin; error() says so.
  bool ends_early() const { return ends_.ends_early(); }
  // True if the watch is open, so that changes arrive when they happen.
  bool watches() const { return state_ == State::kWatches; }
  // The version up to which changes are known; empty: there is no such version, or no longer.
  const std::string& version() const { return version_; }
  // The number of lists begun so far.
  std::uint64_t lists() const { return lists_; }
  // The last error, with the path; empty after a success.
  const std::string& error() const { return ends_.error(); }

 private:
  // kOff: start() was not called. kWaits: the next request must wait. kStreams: a streamed list is
  // open. kPages: a page of a list was requested. kWatches: the watch is open.
  enum class State : std::uint8_t { kOff, kWaits, kStreams, kPages, kWatches };

  // The streamed list or watch that is open, if there is one. At most one is open at a time. The
  // destructor stops it.
  class Stream {
   public:
    explicit Stream(KubeApi& api) : api_(api) {}
    ~Stream() { stop(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Opens a stream. No other may be open.
    void open(std::string path, std::int64_t now_ms, WatchStream::Take take, KubeApi::Ended ended);
    // Stops the stream without a call of `ended`. Does nothing if none is open.
    void stop();
    // Records that the server has ended the stream. Returns true if the server has said before that
    // the version is too old.
    bool ended();
    // The stream has sent an event.
    void note_heard() { heard_ = true; }
    // The stream has sent the error 410.
    void note_expired() { expired_ = true; }
    // True if it has sent an event.
    bool heard() const { return heard_; }
    // True if it has been open for limits::kSteadyWatchMs.
    bool is_old(std::int64_t now_ms) const { return now_ms - opened_ms_ >= limits::kSteadyWatchMs; }

   private:
    KubeApi& api_;
    // The open stream; 0: none.
    KubeApi::WatchId id_ = 0;
    // When it was opened, monotonic.
    std::int64_t opened_ms_ = 0;
    // True: the stream has sent an event.
    bool heard_ = false;
    // True: the server has said that the version is too old. It stays true until ended() reports
    // it, also after stop().
    bool expired_ = false;
  };

  void begin_list(std::int64_t now_ms);
  void begin_watch(std::int64_t now_ms);
  // Opens a streamed list or a watch. `query`: what follows the path.
  void open(State state, const std::string& query, std::int64_t now_ms);
  void ask_page();
  void take_page(std::string_view body);
  void finish_list();
  void do_next();
  void take(const WatchEvent& event);
  // True during a pause after several early ends.
  bool pauses() const { return state_ == State::kWaits && ends_.is_long(); }
  void heard();
  void ended(const CallAnswer& answer);
  void wait(const CallAnswer& answer);
  void wait_ms(DurationMs pause);
  // Returns the limit that counts the next request.
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
  // The version from which the watch continues; empty: a list comes first.
  std::string version_;
  // A list was completed at least once.
  bool listed_ = false;
  // True: the server streams no lists, so the reflector requests pages.
  bool in_pages_ = false;
  // The number of lists begun.
  std::uint64_t lists_ = 0;
  // Expires with the reflector: a late answer to a page request then does nothing.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace subak
