// Follows all objects of one kind: a list, streamed or in pages, then a watch from the end of the
// list, without end. The sink sees each object at least in its present state. It also learns of
// objects that were deleted while no watch was open. Similar to client-go's Reflector
// (tools/cache), without a store of its own.
//
// The server decides when a list or a watch ends; the reflector decides when it asks again. After a
// watch of limits::kSteadyWatchMs it asks at once. After a shorter one it waits, and each further
// short one doubles the wait. RequestPaces limit how often it asks, whatever the server answers
// (docs/design/0076). Threads: that of the client's turn().
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "core/edge_limits.h"
#include "core/quantity.h"
#include "server/edge/client/backoff.h"
#include "server/edge/client/client.h"
#include "server/edge/client/request_pace.h"

namespace subak {

// The receiver of the objects of one kind.
struct ReflectorSink {
  // A list begins. Every existing object follows; objects that were not named by `complete` are
  // gone.
  std::function<void()> begin;
  std::function<void(const WatchEvent&)> object;  // ADDED, MODIFIED or DELETED
  // The watch has sent an event or a bookmark: all earlier changes are known. May be null.
  std::function<void()> alive;
  // The list has ended. False: the sink rejects it, and the list is repeated.
  std::function<bool()> complete;
};

class Reflector {
 public:
  using MonotonicMs = std::function<std::int64_t()>;
  // Limits on requests to the server. They outlive the reflector, so that the next one continues
  // with them.
  struct Paces {
    RequestPace& begins;  // lists and watches of this kind
    RequestPace& pages;   // further pages of all kinds
  };
  // `path`: of the collection, "/api/v1/pods". `api` outlives the reflector, or is destroyed
  // without another turn.
  Reflector(KubeApi& api, std::string path, ReflectorSink sink, Paces paces, MonotonicMs now);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();
  // Begins a list or watch that is due. Call in each turn.
  void turn();
  // Returns the time until turn() has work; kMaxEdgeRetryMs at most.
  DurationMs due_in() const;
  bool listed() const { return listed_; }  // a list was completed
  // True if also the watch is open, or was a moment ago.
  bool synced() const { return listed_ && unheard_ < 2 && !ends_early() && !pauses(); }
  // True if the server ends lists and watches in order as soon as they begin; error() says so.
  bool ends_early() const { return early_ >= limits::kShortWatchesTold; }
  // True if changes arrive as they happen: no list is running, and no pause.
  bool watches() const { return state_ == State::kWatches; }
  // The version up to which changes are known; empty: none, or no longer.
  const std::string& version() const { return version_; }
  std::uint64_t lists() const { return lists_; }
  const std::string& error() const { return error_; }  // the last one, empty after a success

 private:
  enum class State : std::uint8_t { kOff, kWaits, kStreams, kPages, kWatches };
  void begin_list();
  void stream();
  void ask_page();
  void take_page(std::string_view body);
  bool may_follow(std::string_view token);
  void finish_list();
  void do_next();
  void watch();
  void take(const WatchEvent& event);
  bool pauses() const {
    return state_ == State::kWaits && backoff_.tries() >= limits::kShortWatchesTold;
  }
  void heard();
  bool is_old() const { return now_() - opened_ms_ >= limits::kSteadyWatchMs; }
  void settle();
  void ended(const CallAnswer& answer);
  void wait(const CallAnswer& answer);

  KubeApi& api_;
  const std::string path_;
  const ReflectorSink sink_;
  const Paces paces_;
  const MonotonicMs now_;
  State state_ = State::kOff;
  KubeApi::WatchId open_ = 0;
  std::string version_;                        // where the watch continues; empty: list first
  std::string page_;                           // token of the next page; empty: none
  std::set<std::string, std::less<>> tokens_;  // of this list
  bool listed_ = false;
  bool pages_ = false;         // the server streams no lists
  bool expired_ = false;       // the server said so on the stream
  Backoff backoff_;            // since the last steady watch
  std::uint32_t unheard_ = 0;  // ends in a row without any event
  std::uint32_t early_ = 0;    // orderly early ends in a row
  bool heard_ = false;         // on this stream
  std::int64_t opened_ms_ = 0;
  std::int64_t due_ms_ = 0;
  std::uint64_t lists_ = 0;
  std::string error_;
};

}  // namespace subak
