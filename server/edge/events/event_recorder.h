// The event recorder: records Kubernetes Events on pods and owners, at most
// limits::kEventsPerSecond for all objects together. Its queue is bounded. An Event is sent once
// and is lost if the API server refuses it, since Events are no state. An Event that exists
// already, also one of an earlier process, gets a higher count. One that the server has deleted is
// created again. Threads: that of the client's turn().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/quantity.h"
#include "server/edge/client/client.h"

namespace subak {

// An Event to record.
struct PodEvent {
  std::string api_version = "v1", kind = "Pod", ns, name, uid;  // the object that it is about
  std::string reason;                                           // "Released"
  std::string action;                                           // "Release"
  std::string note;                                             // a sentence; written printable()
  bool warning = false;
};

class EventRecorder {
 public:
  // `api` outlives it, or is destroyed without another turn. `now_ms`: the event's time.
  EventRecorder(KubeApi& api, std::function<TimeMs()> now_ms,
                std::function<std::int64_t()> monotonic_ms);

  void tell(PodEvent pod_event);
  // Queues a best-effort write (an annotation or condition) behind the Events. It may be dropped.
  void write(KubeCall call);
  // Sends what the rate allows now. Call in each turn.
  void turn();
  // Returns the time until turn() can send; limits::kLoopMaxWaitMs if the queue is empty.
  DurationMs due_in() const;
  // True if the queue is half full: much later Events would be dropped.
  bool is_crowded() const;
  std::uint64_t sent() const { return sent_; }
  std::uint64_t untold() const { return untold_; }  // dropped because the queue was full

 private:
  struct Line {
    std::optional<PodEvent> pod_event;
    KubeCall call;
    bool second = false;  // the first way (POST or PATCH) was wrong
  };
  void add(Line line);
  void send(const PodEvent& pod_event, bool second);

  KubeApi& api_;
  const std::function<TimeMs()> now_ms_;
  const std::function<std::int64_t()> monotonic_ms_;
  std::deque<Line> waiting_;
  std::map<std::string, std::uint32_t> times_;  // how often each Event was sent, by its path
  std::int64_t next_ms_ = 0;
  std::uint64_t sent_ = 0, untold_ = 0;
};

}  // namespace subak
