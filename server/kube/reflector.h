// Follows all objects of one kind: a list, streamed or in pages, then a watch that goes on where the
// list ended, for ever. What it is for: whoever listens has seen each object at least as it is now, and
// learns which are gone although nobody saw them go. As client-go's Reflector (tools/cache), without a
// store of its own. Threads: that of the client's turn().
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/quantity.h"
#include "server/kube/backoff.h"
#include "server/kube/client.h"

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
  // `path`: of the collection, "/api/v1/pods". `api` outlives it, or goes without another turn.
  Reflector(KubeApi& api, std::string path, ReflectorSink sink, MonotonicMs now);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();
  // Begins what is due. Call in each turn.
  void turn();
  // How long until turn() has something to do; kMaxEdgeRetryMs at most.
  DurationMs due_in() const;
  // A list has been complete, and the watch is open or was until a moment ago.
  bool synced() const { return listed_ && backoff_.tries() < 2; }
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
  void ask_page(const std::string& next);
  void take_page(std::string_view body);
  void finish_list();
  void watch();
  void take(const WatchEvent& event);
  void ended(const CallAnswer& answer);
  void wait(const CallAnswer& answer);

  KubeApi& api_;
  const std::string path_;
  const ReflectorSink sink_;
  const MonotonicMs now_;
  State state_ = State::kOff;
  KubeApi::WatchId open_ = 0;
  std::string version_;  // where the watch goes on; empty: list first
  bool listed_ = false;
  bool pages_ = false;    // the server streams no lists
  bool expired_ = false;  // it said so on the stream
  Backoff backoff_;
  std::int64_t due_ms_ = 0;
  std::uint64_t lists_ = 0;
  std::string error_;
};

}  // namespace subak
