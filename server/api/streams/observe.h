// The gRPC call Observe, by which an external program (an edge) reports a cluster: receives events
// and sends acknowledgements. The stream stops reading while too many events are not durable yet,
// or while the mailbox of the loop, the thread that decides, is full. Flow control of the transport
// then makes the sender wait.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "server/api/convert/check.h"
#include "server/api/streams/sender_clock.h"
#include "server/api/streams/streams.h"
#include "server/runtime/runtime.h"
#include "subak/v1/cluster_service.grpc.pb.h"
#include "threads/mutex.h"

namespace subak::api {

// Counts the open streams for each cluster, by the name that each stream gave. An empty name stands
// for the only cluster. One object of this class counts Observe streams, and another counts Effects
// streams. Threads: any.
class Observers {
 public:
  // begin() counts a stream that begins, and end() one that ends. After each begin(), call end()
  // once with the same name.
  void begin(const std::string& cluster);
  void end(const std::string& cluster);
  // Returns the number of streams for each name. For a reserved cluster, the number includes the
  // service's own edge.
  std::map<std::string, std::size_t> read() const;
  // True if a stream, or the service's own edge, follows this cluster. `alone`: there is only this
  // cluster, so streams without a name follow it too.
  bool any(const std::string& cluster, bool alone) const;
  // Reserves the cluster, because an edge of this service follows it. This cannot be undone. Call
  // it before the server starts.
  void reserve(const std::string& cluster);
  // True if an edge of this service follows this cluster. `alone`: as for any().
  bool ours(const std::string& cluster, bool alone) const;

  // Returns the number of a new session. The number is greater than each session number in `view`,
  // and than each number that was returned before. Numbers order the sessions of one cluster: the
  // engine refuses events of an older session.
  std::uint64_t next_session(const View& view);
  // Counts an event that was refused because a newer session follows its cluster.
  void count_stale() { ++stale_; }
  std::uint64_t stale() const { return stale_; }

 private:
  mutable Mutex mutex_;
  // The number of streams by the name of the cluster that they gave. Clusters without streams have
  // no entry.
  std::map<std::string, std::size_t> open_ SUBAK_GUARDED_BY(mutex_);
  // The reserved clusters.
  std::set<std::string> ours_ SUBAK_GUARDED_BY(mutex_);
  // The greatest number that next_session() returned or saw in a View.
  std::uint64_t last_session_ SUBAK_GUARDED_BY(mutex_) = 0;
  // The number of events that count_stale() counted.
  std::atomic<std::uint64_t> stale_{0};
};

// Returns the error for an Observe or Effects stream that names a cluster which an edge of this
// service follows: kPrecondition, with the field "cluster".
Error follows_itself(const std::string& cluster);

// One stream of the call Observe. The protocol is (see v1::ObserveRequest):
// - Each event has a larger sequence than the event before.
// - The first event names the cluster. Each later event names the same cluster, or none.
// - An event list_begin starts a session. The acknowledgement of this event has the number of the
//   session.
// - The first event may name a session that an earlier stream has begun.
// If the sender breaks this protocol, the stream ends with INVALID_ARGUMENT. If an edge of this
// service follows the cluster, it ends with FAILED_PRECONDITION (follows_itself()). If the service
// refuses an event because of its content, the stream continues, and the acknowledgement has the
// error. The stream acknowledges an event when the facts of the event are durable, in the order of
// the sequences. At most limits::kMaxObserveInFlight events wait for their acknowledgement.
class ObserveStream final : public grpc::ServerBidiReactor<v1::ObserveRequest, v1::ObserveResponse>,
                            public Closable,
                            public std::enable_shared_from_this<ObserveStream> {
 public:
  // `set`, `observers` and `runtime` must outlive the stream. `actor`: the name of the caller in
  // the audit log.
  ObserveStream(StreamSet& set, Observers& observers, Runtime& runtime, std::string actor);
  // Begins to read, or ends the stream with a refusal. Call it once. `ready`: OK, or why this
  // replica takes no events; in that case the stream ends with this status.
  void begin(const Admission& admission, const grpc::Status& ready);
  // Ends the stream. Only the first call has an effect. The engine still decides the events that
  // were read, but the stream acknowledges none of them. Threads: any.
  void close(const grpc::Status& status) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { close(grpc::Status::CANCELLED); }
  void OnDone() override;

 private:
  // An event that was read and not acknowledged yet.
  struct Pending {
    // The sequence that the sender gave the event.
    std::uint64_t sequence = 0;
    // The session that this event begins; 0: the event begins no session.
    std::uint64_t session = 0;
    // True: the event is decided. Its facts are durable, or it was refused.
    bool done = false;
    // Why the event was refused; nullopt: it was not refused.
    std::optional<Error> error;
  };

  // Handles the event that was just read.
  void take_event();
  // Checks the event that was just read against the protocol. If the event breaks the protocol,
  // returns the status with which the stream must end.
  std::optional<grpc::Status> check_order();
  // Records a mistake in `check` if the event names another session than that of the stream.
  void check_session(Check& check);
  // Posts the input from the event that was just read. If the mailbox is full, it tries again a few
  // ms later.
  void submit();
  // Records the answer to the event with this sequence. It runs on the loop's thread, or on the
  // reading thread if the stream itself has refused the event.
  void settle(std::uint64_t sequence, std::optional<Error> error);
  // Begins to read the next event. Does nothing if a read is open, if too many events are pending,
  // or if the stream ends.
  void read_more();
  // Sends an acknowledgement if one is due. If the sender has half-closed and all events are
  // acknowledged, it ends the stream.
  void advance();
  // Moves the answers to the oldest events into `ack`, up to the first event without an answer. If
  // one of these events began a session, `ack` gets the number of that session.
  void collect_locked(v1::ObserveResponse* ack) SUBAK_REQUIRES(mutex_);

  StreamSet& set_;
  Observers& observers_;
  Runtime& runtime_;
  // The name of the caller in the audit log.
  std::string actor_;
  // The data of the reading side. Only a read uses them, and one read runs at a time.
  struct Incoming {
    // The event that was just read. gRPC writes into it while a read is open.
    v1::ObserveRequest request;
    // The cluster that the first event named; an empty name stands for the only cluster.
    std::string cluster;
    // The sequence of the last accepted event; 0: there was none.
    std::uint64_t last_sequence = 0;
    SenderClock clock;
    // The session to which the events that arrive now belong.
    std::uint64_t session = kNoSession;
    // The input from an event that was read and not posted yet.
    std::optional<Input> input;
  };
  Incoming incoming_;

  // Guards the members that both the threads of gRPC and the loop use.
  Mutex mutex_;
  // The events that are not acknowledged yet, in the order of their sequences.
  std::deque<Pending> pending_ SUBAK_GUARDED_BY(mutex_);
  // The state of the stream.
  struct Phase {
    // True: a read is open, or an event waits for the mailbox.
    bool reading = false;
    // The sender has half-closed.
    bool no_more = false;
    // A write is open.
    bool writing = false;
    // close() was called: the stream reads and acknowledges no more events.
    bool closing = false;
    // Finish() was called.
    bool finished = false;
  };
  Phase phase_ SUBAK_GUARDED_BY(mutex_);
  // The status of the first close(). The status never changes after that.
  grpc::Status status_;
  // The message that is being written.
  v1::ObserveResponse ack_ SUBAK_GUARDED_BY(mutex_);
  // Keeps the stream alive from begin() to OnDone().
  std::shared_ptr<ObserveStream> self_;
};

}  // namespace subak::api
