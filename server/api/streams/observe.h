// Observe: receives events and sends acknowledgements. It stops reading while too many events are
// not durable yet or the runtime's mailbox is full. The transport then holds the sender back.
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

// The clusters that open Observe or Effects streams follow now, counted by the name that each
// stream gave (empty: the only cluster). Threads: any.
// Streams of one service, or launchers: one object for each kind.
class Observers {
 public:
  // Each begin() is followed by one end() with the same name.
  void begin(const std::string& cluster);
  void end(const std::string& cluster);
  // Returns the counts; a reserved cluster has one more.
  std::map<std::string, std::size_t> read() const;
  // True if a stream follows this cluster. `alone`: it is the only cluster, which needs no name.
  bool any(const std::string& cluster, bool alone) const;
  // Marks the cluster as followed by an edge of this service as long as it runs.
  // Call before the server starts. It cannot be undone.
  void reserve(const std::string& cluster);
  // True if an edge of this service follows the named cluster; `alone` as above.
  bool ours(const std::string& cluster, bool alone) const;

  // Returns a number for a new session, greater than any in `view` and any returned before.
  // Sessions order the lists of one cluster: the engine refuses events of an older one.
  std::uint64_t next_session(const View& view);
  // Counts an event that was refused because another session is newer.
  void count_stale() { ++stale_; }
  std::uint64_t stale() const { return stale_; }

 private:
  mutable Mutex mutex_;
  // By the name that the streams gave. Clusters without streams have no entry.
  std::map<std::string, std::size_t> open_ SUBAK_GUARDED_BY(mutex_);
  // Reserved clusters.
  std::set<std::string> ours_ SUBAK_GUARDED_BY(mutex_);
  // The greatest number that next_session() returned or saw in a View.
  std::uint64_t last_session_ SUBAK_GUARDED_BY(mutex_) = 0;
  // Only rises.
  std::atomic<std::uint64_t> stale_{0};
};

// The refusal of an Observe or Effects stream for a cluster that an edge of this service follows.
// kPrecondition, field "cluster".
Error follows_itself(const std::string& cluster);

// The protocol, see v1::ObserveRequest:
// - sequences rise; the stream's first event names the cluster, and later ones the same or none;
// - list_begin starts a session, and its acknowledgement has the session's number;
// - the first event may name a session that an earlier stream began.
// A breach ends the stream with INVALID_ARGUMENT. An event that is refused for its content does
// not: its acknowledgement has the error. An event is acknowledged once its facts are durable, in
// the order of the sequences. At most limits::kMaxObserveInFlight wait for that.
class ObserveStream final : public grpc::ServerBidiReactor<v1::ObserveRequest, v1::ObserveResponse>,
                            public Closable,
                            public std::enable_shared_from_this<ObserveStream> {
 public:
  // All three outlive the stream. `actor`: the caller, as the audit log shows it.
  ObserveStream(StreamSet& set, Observers& observers, Runtime& runtime, std::string actor);
  // Call once. A refusal ends the stream before it reads anything.
  // `ready`: OK, or why this replica takes no events; it becomes the status.
  void begin(const Admission& admission, const grpc::Status& ready);
  // Only the first close counts. Events that were read are still decided; their acknowledgements
  // are lost. Threads: any.
  void close(const grpc::Status& status) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { close(grpc::Status::CANCELLED); }
  void OnDone() override;

 private:
  // An event that was read and not acknowledged yet.
  struct Pending {
    // As the sender gave it.
    std::uint64_t sequence = 0;
    // The session that this event begins; 0: it begins none.
    std::uint64_t session = 0;
    // It was decided: its facts are durable, or it was refused.
    bool done = false;
    // Why it was refused; none: it was not.
    std::optional<Error> error;
  };

  // Handles the event just read.
  void take_event();
  // Returns the status that ends the stream for a breach of the protocol.
  std::optional<grpc::Status> check_order();
  // Fails if the event names a session other than the stream's.
  void check_session(Check& check);
  // Posts the input that was read. If the mailbox is full, it tries again a few ms later.
  void submit();
  // Records the answer to the event. The loop's thread, or the reading thread for an event that was
  // refused here.
  void settle(std::uint64_t sequence, std::optional<Error> error);
  // Reads the next event, unless one is open, too many are pending, or the stream ends.
  void read_more();
  // Sends an acknowledgement if one is due. Ends the stream once the sender has half-closed and all
  // is acknowledged.
  void advance();
  // Moves the answers of the oldest settled events into `ack`, with the session that began.
  void collect_locked(v1::ObserveResponse* ack) SUBAK_REQUIRES(mutex_);

  StreamSet& set_;
  Observers& observers_;
  Runtime& runtime_;
  // The caller, as the audit log shows it.
  std::string actor_;
  // What the sender sends. Used by the one read at a time.
  struct Incoming {
    // The event just read. gRPC writes it while a read is open.
    v1::ObserveRequest request;
    // As the first event named it; empty: the only cluster.
    std::string cluster;
    // Of the last event in order; 0: there was none.
    std::uint64_t last_sequence = 0;
    SenderClock clock;
    // The session of the events that arrive now.
    std::uint64_t session = kNoSession;
    // An event that was read and not posted yet.
    std::optional<Input> input;
  };
  Incoming incoming_;

  // Guards what both gRPC's threads and the loop use.
  Mutex mutex_;
  // In the order of the sequences.
  std::deque<Pending> pending_ SUBAK_GUARDED_BY(mutex_);
  // Where the stream is.
  struct Phase {
    // A read is open, or an event waits for the mailbox.
    bool reading = false;
    // The sender has half-closed.
    bool no_more = false;
    // A write is open.
    bool writing = false;
    // close() was called: nothing is read or acknowledged any more.
    bool closing = false;
    // Finish() was called.
    bool finished = false;
  };
  Phase phase_ SUBAK_GUARDED_BY(mutex_);
  // Of the first close; not changed after that.
  grpc::Status status_;
  // The message being written.
  v1::ObserveResponse ack_ SUBAK_GUARDED_BY(mutex_);
  // Keeps the stream alive from begin() to OnDone().
  std::shared_ptr<ObserveStream> self_;
};

}  // namespace subak::api
