// Sends notices (messages about decisions, such as the start of a job) to the receivers that the
// receivers file lists. Only the leader's notifier sends.
//
//   durable facts -> notices -> the queue of each receiver -> its sending thread -> receiver
//
// The loop's thread, which decides, hands over each batch of durable facts and never waits. The
// notifier's thread makes the notices, and reads the names of jobs and nodes from the follower, the
// engine that serves reads. Each receiver has a queue and a sending thread of its own, so a
// receiver that hangs delays no other receiver. The notifier reads facts from the store if they are
// older than start(), or if too many facts waited in memory.
//
// Delivery is at least once. The notifier writes into the store how far each receiver is (marks.h),
// and the next leader begins there. A notice has the same id each time, since the id is the number
// of its fact (docs/design/0125).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"
#include "engine/engine.h"
#include "server/notify/receiver_queue.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"

namespace subak {

// The parts of the service that the notifier uses after start(), from its own threads.
struct NotifierPorts {
  // Queues the function, which the follower's thread later calls with its engine
  // (Follower::read_expensive()). False: the follower refused the read.
  std::function<bool(std::function<void(const Engine&)>)> read;
  // Returns the service's present time, in UTC (Runtime::now_ms()).
  std::function<TimeMs()> now_ms;
  // Returns the time by a clock that never goes back, in ms.
  std::function<DurationMs()> monotonic_ms;
};

// The figures of each receiver, by the names of the receivers.
using ReceiverFigures = std::vector<std::pair<std::string, NoticeFigures>>;

// The notifier. Threads: any may call the members, but one at a time calls start() and stop().
class Notifier {
 public:
  // `file`: the path of the receivers file.
  Notifier(std::string file, NotifierPorts ports);
  ~Notifier();  // stop()
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Reads the receivers file, for the first time or again. A receiver keeps its queue if the file
  // still has its name. After start(), new receivers begin with the next fact. After an error, the
  // receivers are unchanged.
  std::optional<Error> read();
  // Reads the marks and starts the threads. Call it when this process leads. `last_seq`: the last
  // durable fact. Receivers without a mark begin after this fact. `store` must outlive the
  // notifier. Returns an error if the store cannot be opened for reading. Call it once.
  std::optional<Error> start(Store& store, std::uint64_t last_seq);
  // Ends all threads, within about a second, and writes the marks. Call it before the follower
  // stops. A second call does nothing.
  void stop();

  // Hands over a durable batch, in order. Never blocks for long. Before start(), the function
  // stores only the number of the batch's last fact.
  void durable(const Released& batch);
  ReceiverFigures figures() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns a sentence for each receiver whose last request failed.
std::vector<std::string> notice_warnings(const ReceiverFigures& figures);

}  // namespace subak
