// Observe: events in, acknowledgements out. Reading stops while too much is not durable yet or the
// runtime's mailbox is full; the transport then holds the sender back.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "server/api/check.h"
#include "server/api/sender_clock.h"
#include "server/api/streams.h"
#include "server/runtime/runtime.h"
#include "subak/v1/cluster_service.grpc.pb.h"

namespace subak::api {

// The clusters that are followed now, by Observe or by Effects: open streams by the name that they
// gave, empty for the only cluster. Threads: any.
class Observers {
 public:
  void begin(const std::string& cluster);
  void end(const std::string& cluster);
  std::map<std::string, std::size_t> read() const;
  // Whether somebody follows this cluster; `alone`: it is the only one, which needs no name.
  bool any(const std::string& cluster, bool alone) const;
  // An edge of the service itself follows this one, as long as it runs.
  void reserve(const std::string& cluster);
  // Whether that is so of the cluster that a caller has named; `alone` as above.
  bool ours(const std::string& cluster, bool alone) const;

  // A number for a session that begins now: greater than any that was given or that `view` has.
  std::uint64_t next_session(const View& view);
  // Events that were refused since another session is newer.
  void count_stale() { ++stale_; }
  std::uint64_t stale() const { return stale_; }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> open_;
  std::set<std::string> ours_;
  std::uint64_t last_session_ = 0;
  std::atomic<std::uint64_t> stale_{0};
};

// That a cluster which an edge of the service follows takes no second one, and no launcher.
Error follows_itself(const std::string& cluster);

class ObserveStream final : public grpc::ServerBidiReactor<v1::ObserveRequest, v1::ObserveResponse>,
                            public Closable,
                            public std::enable_shared_from_this<ObserveStream> {
 public:
  ObserveStream(StreamSet& set, Observers& observers, Runtime& runtime, std::string actor);
  // Call once. A refusal ends the stream before anything is read.
  void begin(const Admission& admission, const grpc::Status& ready);
  void close(const grpc::Status& status) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { close(grpc::Status::CANCELLED); }
  void OnDone() override;

 private:
  struct Pending {
    std::uint64_t sequence = 0;
    std::uint64_t session = 0;  // that it begins
    bool done = false;
    std::optional<Error> error;
  };

  void take_event();                          // the event just read
  std::optional<grpc::Status> check_order();  // breaks of protocol end the stream
  void check_session(Check& check);
  void submit();  // posts input_, or tries again soon
  void settle(std::uint64_t sequence, std::optional<Error> error);
  void read_more();
  void advance();  // acknowledges, finishes when all is said
  void collect_locked(v1::ObserveResponse* ack);

  StreamSet& set_;
  Observers& observers_;
  Runtime& runtime_;
  std::string actor_;
  v1::ObserveRequest request_;  // touched by the one read at a time
  std::string cluster_;
  std::uint64_t last_sequence_ = 0;
  SenderClock sender_clock_;
  std::uint64_t session_ = kNoSession;  // of the events that come now
  std::optional<Input> input_;          // read and not yet posted

  std::mutex mutex_;
  std::deque<Pending> pending_;  // by sequence
  bool reading_ = false;         // a read, or an event that waits for the mailbox
  bool no_more_ = false;         // the sender has half-closed
  bool writing_ = false;
  bool closing_ = false;
  bool finished_ = false;
  grpc::Status status_;
  v1::ObserveResponse ack_;
  std::shared_ptr<ObserveStream> self_;
};

}  // namespace subak::api
