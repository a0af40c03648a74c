// The event recorder: records Kubernetes Events on pods and owners, at most
// limits::kEventsPerSecond for all objects together. Its queue is bounded. An Event is sent once,
// and is lost if the API server refuses it, since Events are no state. If the Event already exists,
// also from an earlier process, its count is raised. If the server has deleted it, it is created
// again. Threads: that of the client's turn().
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
// Events with equal uid, reason and note are the same Event.
struct PodEvent {
  // The object that the Event is about.
  std::string api_version = "v1", kind = "Pod", ns, name, uid;
  // One word for programs: "Released".
  std::string reason;
  // The action that was done or tried: "Release".
  std::string action;
  // A sentence for people. It is sent as printable() writes it.
  std::string note;
  // True: its type is Warning, else Normal.
  bool warning = false;
};

class EventRecorder {
 public:
  // `api` must run no turn after the recorder is destroyed. `now_ms` gives the time of an Event.
  EventRecorder(KubeApi& api, std::function<TimeMs()> now_ms,
                std::function<std::int64_t()> monotonic_ms);

  // Queues an Event. If the queue has limits::kMaxWaitingEvents entries, the oldest is dropped.
  void tell(PodEvent pod_event);
  // Queues a best-effort write (an annotation or condition) behind the Events. The write may be
  // dropped, and its answer is ignored.
  void write(KubeCall call);
  // Sends entries as far as the rate allows now. Call it in each turn.
  // After a pause it sends at once the number for one second.
  void turn();
  // Returns the time until turn() can send, or limits::kLoopMaxWaitMs if the queue is empty.
  DurationMs due_in() const;
  // True if the queue is half full. If the recorder sends much later, it will drop entries.
  bool is_crowded() const;
  // The number of calls made, with refused calls.
  std::uint64_t sent() const { return sent_; }
  // The number of entries dropped because the queue was full.
  std::uint64_t untold() const { return untold_; }

 private:
  // One entry of the queue: an Event, or else a call.
  struct Line {
    // Unset: `call` is sent.
    std::optional<PodEvent> pod_event;
    KubeCall call;
    // True: the first method (POST or PATCH) was wrong, so the other one follows.
    bool second = false;
  };
  // Queues the entry, and drops the oldest one if the queue is full.
  void add(Line line);
  // Sends POST for an Event that was not sent before, else PATCH of its count. If the API server
  // says that the other method is right, it queues the Event once more.
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
