// The standby: while another process leads, it keeps up with the store. So it can serve reads, and
// has nothing to read when it takes over.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "core/error.h"
#include "model/fact.h"
#include "server/leader/durable_mark.h"
#include "server/runtime/fatal.h"
#include "server/runtime/runtime.h"
#include "server/store/postgres/postgres_store.h"
#include "threads/mutex.h"

namespace subak {

// Feeds a runtime with the facts of a store that another process writes. Threads: one at a time.
class StoreTail {
 public:
  // `runtime` outlives it.
  explicit StoreTail(Runtime& runtime) : runtime_(runtime) {}
  // Reads the whole store: Runtime::follow(). `meanwhile` is called often during that. Call once,
  // before look().
  Result<Recovered> begin(const std::function<void()>& meanwhile = nullptr);
  // Hands over the facts since the last look, and the leader's names.
  // - kGone: the last fact that was read is no longer there, as after a failover to a copy of the
  //   database that lacked it. The state here is then not the store's, and the process must
  //   restart.
  // - kNewer: the leader finalized the store to a fact version that this program does not know.
  // - kFailed: an error, which is logged once until a look succeeds.
  enum class Look : unsigned char { kAll, kFailed, kGone, kNewer };
  Look look(StoreReader& reader, const KnownAs& known_as = {});

 private:
  Runtime& runtime_;
  // The last fact read; none: all came from a checkpoint, or the store is empty.
  std::optional<Fact> last_;
  // The last look failed.
  bool failed_ = false;
};

// open_shared_store(), repeated while the database's server is unreachable and `options.stop` does
// not end it. `away` is called after each failure.
Result<std::unique_ptr<SharedStore>> open_once_there(const PostgresOptions& options,
                                                     const std::function<void()>& away = nullptr);

// Tries to lead until it does, and follows the store meanwhile. The fence of the store decides who
// leads; a standby only asks. Threads: begin(), then start() and stop() by one thread.
class Standby {
 public:
  // What a standby works with. The references and pointers outlive it.
  struct Ports {
    // It takes the lead only where `known` may.
    SharedStore& store;
    Runtime& runtime;
    // Gets the released facts; nullptr: only the store's facts count.
    DurableMark* known;
    // Called on the standby's thread once it leads and the runtime has all facts. An error ends the
    // process.
    std::function<std::optional<Error>()> take_over;
    // How the process ends after an error on the standby's thread.
    Fatal fatal;
    // True: the start of the process must end.
    std::function<bool()> stop;
    // Called while begin() waits for a database that is away. May be empty.
    std::function<void()> away = nullptr;
  };
  explicit Standby(Ports ports);
  // stop()
  ~Standby();
  Standby(const Standby&) = delete;
  Standby& operator=(const Standby&) = delete;

  // Returns true once it leads, or false once another leads and the runtime follows. An error:
  // neither is possible.
  Result<bool> begin();
  // Call after begin() returned false. Looks every limits::kLeadLookMs on a thread until it leads.
  void start();

  // One round of begin() and of the thread, without waiting. For them and for simulations of
  // faults, by one thread.
  // kNotYet: neither is possible now, as while the database is away. Call it again.
  enum class Begun : unsigned char { kLeads, kFollows, kNotYet };
  Result<Begun> try_begin();
  // Returns true once it leads and the runtime has all facts. An error: the process must end.
  Result<bool> look();
  // Stops; a take-over in progress is finished first. Idempotent.
  void stop();

 private:
  // The thread: wait_and_lead(), then its error ends the process.
  void run();
  // Looks until it leads, then takes over. nullopt: it took over, or was stopped.
  std::optional<Error> wait_and_lead();
  // Compares the store with this replica's last durable sequence, if possible.
  std::optional<Error> compare();
  // The lead was taken in the first round: checks once more that it may lead.
  Result<Begun> led_at_once();
  // Reads the whole store and serves reads from then on.
  Result<Begun> follow();
  bool may_lead() const { return ports_.known == nullptr || ports_.known->may_lead(); }
  // The error for a database that no longer has what this process has read.
  Error gone() const;
  // Waits for limits::kLeadLookMs. False: it is stopped.
  bool pause();

  Ports ports_;
  StoreTail tail_;
  // Opened by the first compare(); nullptr before.
  std::unique_ptr<StoreReader> reader_;
  // The last look at the leader failed.
  bool failed_ = false;
  // The store was compared with `known`.
  bool compared_ = false;
  // The last look read all facts.
  bool has_all_ = false;
  // As the leader said last.
  KnownAs known_as_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
