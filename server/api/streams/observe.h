// Observe: receives events and sends acknowledgements. The stream stops reading while too many
// events are not durable yet, or while the runtime's mailbox is full. The transport then makes the
// sender wait.
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

// Counts the open streams of each cluster, by the name that the stream gave (empty: the only
// cluster). Threads: any.
// One object counts Observe streams, another counts Effects streams.
class Observers {
 public:
  // Count a stream that begins or ends. After each begin(), call end() once with the same name.
  void begin(const std::string& cluster);
  void end(const std::string& cluster);
  // Returns the counts. For a reserved cluster it adds 1.
  std::map<std::string, std::size_t> read() const;
  // True if a stream follows this cluster. `alone`: this is the only cluster, so streams without a
  // name follow it too.
  bool any(const std::string& cluster, bool alone) const;
  // Marks the cluster as followed by an edge of this service, for the life of the service.
  // Call it before the server starts. It cannot be undone.
  void reserve(const std::string& cluster);
  // True if an edge of this service follows the named cluster; `alone` as above.
  bool ours(const std::string& cluster, bool alone) const;

  // Returns a number for a new session, greater than any in `view` and any returned before.
  // Sessions order the lists of one cluster: the engine refuses events of an older session.
  std::uint64_t next_session(const View& view);
  // Counts an event that was refused because another session is newer.
  void count_stale() { ++stale_; }
  std::uint64_t stale() const { return stale_; }

 private:
  mutable Mutex mutex_;
  // The number of streams by the name that they gave. Clusters without streams have no entry.
  std::map<std::string, std::size_t> open_ SUBAK_GUARDED_BY(mutex_);
  // Reserved clusters.
  std::set<std::string> ours_ SUBAK_GUARDED_BY(mutex_);
  // The greatest number that next_session() returned or saw in a View.
  std::uint64_t last_session_ SUBAK_GUARDED_BY(mutex_) = 0;
  // The number of events that count_stale() counted.
  std::atomic<std::uint64_t> stale_{0};
};

// Returns the refusal of an Observe or Effects stream for a cluster that an edge of this service
// follows: kPrecondition, field "cluster".
Error follows_itself(const std::string& cluster);

// The protocol, see v1::ObserveRequest:
// - sequences rise; the stream's first event names the cluster, and later ones the same or none;
// - list_begin starts a session, and its acknowledgement has the session's number;
// - the first event may name a session that an earlier stream began.
// If the sender breaks this protocol, the stream ends with INVALID_ARGUMENT. If the service refuses
// an event for its content, the stream goes on: the acknowledgement has the error. The stream
// acknowledges an event once its facts are durable, in the order of the sequences. At most
// limits::kMaxObserveInFlight events wait for that.
class ObserveStream final : public grpc::ServerBidiReactor<v1::ObserveRequest, v1::ObserveResponse>,
                            public Closable,
                            public std::enable_shared_from_this<ObserveStream> {
 public:
  // `set`, `observers` and `runtime` outlive the stream. `actor`: the caller, as the audit log
  // shows it.
  ObserveStream(StreamSet& set, Observers& observers, Runtime& runtime, std::string actor);
  // Call once. A refusal ends the stream before it reads anything.
  // `ready`: OK, or why this replica takes no events; it becomes the status.
  void begin(const Admission& admission, const grpc::Status& ready);
  // Ends the stream. Only the first call counts. The engine still decides events that were read,
  // but the stream sends no more acknowledgements. Threads: any.
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
    // The session that this event begins; 0: it begins none.
    std::uint64_t session = 0;
    // True: the event was decided. Its facts are durable, or it was refused.
    bool done = false;
    // Why the event was refused; none: it was not.
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
  // Records the answer to the event. Runs on the loop's thread, or on the reading thread if the
  // stream refused the event.
  void settle(std::uint64_t sequence, std::optional<Error> error);
  // Reads the next event, unless one is open, too many are pending, or the stream ends.
  void read_more();
  // Sends an acknowledgement if one is due. Ends the stream once the sender has half-closed and all
  // events are acknowledged.
  void advance();
  // Moves the answers to the oldest events into `ack`, up to the first event without an answer. If
  // one of them began a session, `ack` gets the session's number.
  void collect_locked(v1::ObserveResponse* ack) SUBAK_REQUIRES(mutex_);

  StreamSet& set_;
  Observers& observers_;
  Runtime& runtime_;
  // The caller, as the audit log shows it.
  std::string actor_;
  // The data of the reading side. Only the read uses it, and one read runs at a time.
  struct Incoming {
    // The event just read. gRPC writes it while a read is open.
    v1::ObserveRequest request;
    // The cluster that the first event named; empty: the only cluster.
    std::string cluster;
    // The sequence of the last accepted event; 0: there was none.
    std::uint64_t last_sequence = 0;
    SenderClock clock;
    // The session of the events that arrive now.
    std::uint64_t session = kNoSession;
    // An event that was read and not posted yet.
    std::optional<Input> input;
  };
  Incoming incoming_;

  // Guards the members that both gRPC's threads and the loop use.
  Mutex mutex_;
  // Events without an acknowledgement, in the order of their sequences.
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
  // The status of the first close(); never changed after that.
  grpc::Status status_;
  // The message being written.
  v1::ObserveResponse ack_ SUBAK_GUARDED_BY(mutex_);
  // Keeps the stream alive from begin() to OnDone().
  std::shared_ptr<ObserveStream> self_;
};

}  // namespace subak::api
