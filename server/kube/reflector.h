// Follows all objects of one kind: a list, streamed or in pages, then a watch that goes on where the
// list ended, for ever. What it is for: whoever listens has seen each object at least as it is now, and
// learns which are gone although nobody saw them go. As client-go's Reflector (tools/cache), without a
// store of its own.
//
// The server decides when a list or a watch ends; the reflector decides when it asks again. After a
// watch of limits::kSteadyWatchMs it asks at once. After a shorter one it waits, and each further short
// one doubles the wait. RequestPaces limit how often it asks, whatever the server answers
// (docs/design/0076). Threads: that of the client's turn().
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "core/edge_limits.h"
#include "core/quantity.h"
#include "server/kube/backoff.h"
#include "server/kube/client.h"
#include "server/kube/request_pace.h"

namespace subak {

struct ReflectorSink {
  // A list begins: every object that there is comes, and what has not come by `complete` is gone.
  std::function<void()> begin;
  std::function<void(const WatchEvent&)> object;  // ADDED, MODIFIED or DELETED
  // The watch has said something, if only a bookmark: what happened before is known. May be null.
  std::function<void()> alive;
  // The list has ended. False: it is not believed, and is asked for once more.
  std::function<bool()> complete;
};

class Reflector {
 public:
  using MonotonicMs = std::function<std::int64_t()>;
  // How often the server is asked. They outlive the reflector, so that the next one goes on with them.
  struct Paces {
    RequestPace& begins;  // lists and watches of this kind
    RequestPace& pages;   // further pages of all kinds
  };
  // `path`: of the collection, "/api/v1/pods". `api` outlives it, or goes without another turn.
  Reflector(KubeApi& api, std::string path, ReflectorSink sink, Paces paces, MonotonicMs now);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();
  // Begins what is due. Call in each turn.
  void turn();
  // How long until turn() has something to do; kMaxEdgeRetryMs at most.
  DurationMs due_in() const;
  bool listed() const { return listed_; }  // a list has been complete
  // And the watch is open, or was until a moment ago.
  bool synced() const { return listed_ && unheard_ < 2 && !ends_early() && !pauses(); }
  // The server ends lists and watches as soon as they begin, in order; error() says so.
  bool ends_early() const { return early_ >= limits::kShortWatchesTold; }
  // What happens is said as it happens: no list is on the way, and no pause.
  bool watches() const { return state_ == State::kWatches; }
  // Up to which it has said what happened; empty: nothing, or no more.
  const std::string& version() const { return version_; }
  std::uint64_t lists() const { return lists_; }
  const std::string& error() const { return error_; }  // the last one, empty since it went well

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
  std::string version_;                        // where the watch goes on; empty: list first
  std::string page_;                           // token of the page to ask for; empty: none
  std::set<std::string, std::less<>> tokens_;  // of this list
  bool listed_ = false;
  bool pages_ = false;         // the server streams no lists
  bool expired_ = false;       // it said so on the stream
  Backoff backoff_;            // since the last steady watch
  std::uint32_t unheard_ = 0;  // ends in a row since anything came
  std::uint32_t early_ = 0;    // ends in order in a row, each of them early
  bool heard_ = false;         // on this stream
  std::int64_t opened_ms_ = 0;
  std::int64_t due_ms_ = 0;
  std::uint64_t lists_ = 0;
  std::string error_;
};

}  // namespace subak
