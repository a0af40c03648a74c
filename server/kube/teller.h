// Tells people in the cluster what has happened to their pods: Events, at most limits::kToldPerSecond of
// all objects together. What waits to be told is bounded; it is told once, and lost if the API server
// does not take it: events are no state. One that is there already, told by a process before this one, is
// counted on, and one that the server has forgotten is made anew. Threads: that of the client's turn().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/quantity.h"
#include "server/kube/client.h"

namespace subak {

struct Told {
  std::string api_version = "v1", kind = "Pod", ns, name, uid;  // what it is about
  std::string reason;                                           // "Released"
  std::string action;                                           // "Release"
  std::string note;                                             // a sentence; written printable()
  bool warning = false;
};

class Teller {
 public:
  // `api` outlives it, or goes without another turn. `now_ms`: for the event.
  Teller(KubeApi& api, std::function<TimeMs()> now_ms, std::function<std::int64_t()> monotonic_ms);

  void tell(Told told);
  // Another write for people, in the same line: of those that may be lost too.
  void write(KubeCall call);
  // Sends what may be sent now. Call in each turn.
  void turn();
  // How long until turn() could send something; limits::kLoopMaxWaitMs if nothing waits.
  DurationMs due_in() const;
  // Half of what may wait does: a word that is put off much longer is lost.
  bool is_crowded() const;
  std::uint64_t sent() const { return sent_; }
  std::uint64_t untold() const { return untold_; }  // dropped, as too many waited

 private:
  struct Line {
    std::optional<Told> told;
    KubeCall call;
    bool second = false;  // the other way of telling it was not right
  };
  void add(Line line);
  void send(const Told& told, bool second);

  KubeApi& api_;
  const std::function<TimeMs()> now_ms_;
  const std::function<std::int64_t()> monotonic_ms_;
  std::deque<Line> waiting_;
  std::map<std::string, std::uint32_t> times_;  // how often each was told, by its event's path
  std::int64_t next_ms_ = 0;
  std::uint64_t sent_ = 0, untold_ = 0;
};

}  // namespace subak
