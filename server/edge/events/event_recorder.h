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
// Two with equal uid, reason and note are one Event.
struct PodEvent {
  // The object that it is about.
  std::string api_version = "v1", kind = "Pod", ns, name, uid;
  // One word for programs: "Released".
  std::string reason;
  // What was done, or was tried: "Release".
  std::string action;
  // A sentence for people. It is sent as printable() writes it.
  std::string note;
  // Its type is Warning, else Normal.
  bool warning = false;
};

class EventRecorder {
 public:
  // `api` outlives it, or is destroyed without another turn. `now_ms`: the event's time.
  EventRecorder(KubeApi& api, std::function<TimeMs()> now_ms,
                std::function<std::int64_t()> monotonic_ms);

  // Queues it. With limits::kMaxWaitingEvents in the queue the oldest entry is dropped.
  void tell(PodEvent pod_event);
  // Queues a best-effort write (an annotation or condition) behind the Events. It may be dropped.
  // Its answer is ignored.
  void write(KubeCall call);
  // Sends what the rate allows now. Call in each turn.
  // After a pause it sends one second's worth at once.
  void turn();
  // Returns the time until turn() can send; limits::kLoopMaxWaitMs if the queue is empty.
  DurationMs due_in() const;
  // True if the queue is half full: much later Events would be dropped.
  bool is_crowded() const;
  // Calls that were made, refused ones included.
  std::uint64_t sent() const { return sent_; }
  // Entries dropped because the queue was full.
  std::uint64_t untold() const { return untold_; }

 private:
  // One entry of the queue: an Event, or else a call.
  struct Line {
    // none: `call` is sent.
    std::optional<PodEvent> pod_event;
    KubeCall call;
    // The first way (POST or PATCH) was wrong: this is the other way.
    bool second = false;
  };
  // Queues the entry, and drops the oldest one if the queue is full.
  void add(Line line);
  // POST for an Event that was not sent before, else PATCH of its count. If the API server says
  // that the other way is right, it is queued once more.
  void send(const PodEvent& pod_event, bool second);

  KubeApi& api_;
  const std::function<TimeMs()> now_ms_;
  const std::function<std::int64_t()> monotonic_ms_;
  // The oldest first.
  std::deque<Line> waiting_;
  // How often each Event was sent, by its path. It is emptied at limits::kMaxWaitingEvents.
  std::map<std::string, std::uint32_t> times_;
  // When the next entry may be sent, monotonic.
  std::int64_t next_ms_ = 0;
  std::uint64_t sent_ = 0, untold_ = 0;
};

}  // namespace subak
