// The event recorder: records Kubernetes Events on pods and owners, at most
// limits::kEventsPerSecond for all objects together. Its queue is bounded. If the API server
// refuses an Event, the Event is lost, which does no harm because Subak never reads Events. If the
// Event already exists, for example from an earlier process, the recorder raises its count. If the
// server has deleted the Event meanwhile, the recorder creates it again. Threads: only the thread
// of the edge's loop, which calls KubeApi::turn().
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

// An Event to record. Two Events with equal uid, reason and note are the same Event.
struct PodEvent {
  // The object that the Event is about.
  std::string api_version = "v1", kind = "Pod", ns, name, uid;
  // One word for programs, such as "Released".
  std::string reason;
  // The action that was done or tried, such as "Release".
  std::string action;
  // A sentence for people. The recorder sends the result of printable() for it.
  std::string note;
  // The type of the Event. True: Warning; false: Normal.
  bool warning = false;
};

// The recorder of one edge. tell() and write() only queue; turn() sends.
class EventRecorder {
 public:
  // Do not call turn() of `api` after the recorder is destroyed, because answers of the API server
  // call the recorder. `now_ms` returns the time that an Event gets.
  EventRecorder(KubeApi& api, std::function<TimeMs()> now_ms,
                std::function<std::int64_t()> monotonic_ms);

  // Queues an Event. If the queue has limits::kMaxWaitingEvents entries, its oldest entry is
  // dropped.
  void tell(PodEvent pod_event);
  // Queues a best-effort write of an annotation or a condition, in the queue of the Events. The
  // write may be dropped, and the recorder ignores the server's answer.
  void write(KubeCall call);
  // Sends as many entries as limits::kEventsPerSecond allows now. Call it in each turn of the edge.
  // After a pause of a second or more, it may send limits::kEventsPerSecond entries at once.
  void turn();
  // Returns the time until turn() can send, or limits::kLoopMaxWaitMs if the queue is empty.
  DurationMs due_in() const;
  // True if the queue is at least half full. The caller should then queue only what is important,
  // since a full queue drops entries.
  bool is_crowded() const;
  // The number of calls made, including calls that the server refused.
  std::uint64_t sent() const { return sent_; }
  // The number of entries dropped because the queue was full.
  std::uint64_t untold() const { return untold_; }

 private:
  // One entry of the queue: an Event or a call.
  struct Line {
    // The Event; nullopt: the entry is `call`.
    std::optional<PodEvent> pod_event;
    KubeCall call;
    // True: the first request for the Event used the wrong method (POST or PATCH), so the other
    // method follows.
    bool second = false;
  };
  // Queues the entry, and drops the oldest one if the queue is full.
  void add(Line line);
  // Sends a POST for an Event that this recorder has not sent before, and otherwise a PATCH of the
  // Event's count. If the answer shows that the other method is right, it queues the Event once
  // more.
  void send(const PodEvent& pod_event, bool second);

  KubeApi& api_;
  const std::function<TimeMs()> now_ms_;
  const std::function<std::int64_t()> monotonic_ms_;
  // The queue, the oldest entry first.
  std::deque<Line> waiting_;
  // How often each Event was sent, by the path of the Event. The map is emptied when it has more
  // than limits::kMaxWaitingEvents entries.
  std::map<std::string, std::uint32_t> times_;
  // When the next entry may be sent, by the monotonic clock.
  std::int64_t next_ms_ = 0;
  std::uint64_t sent_ = 0, untold_ = 0;
};

}  // namespace subak
