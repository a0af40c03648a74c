// The standby follows the store while another process leads. So it can serve reads, and needs to
// read little when it takes over.
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
  // `runtime` outlives this object.
  explicit StoreTail(Runtime& runtime) : runtime_(runtime) {}
  // Reads the whole store by Runtime::follow(), and calls `meanwhile` often during that. Call it
  // once, before look().
  Result<Recovered> begin(const std::function<void()>& meanwhile = nullptr);
  // Passes to the runtime the facts since the last look, and the leader's user names (KnownAs).
  // - kGone: the last fact that was read is no longer there, as after a failover to a copy of the
  //   database that lacked it. The state here is then not the store's, and the process must
  //   restart.
  // - kNewer: the leader finalized the store to a fact version that this program does not know.
  // - kFailed: an error, which is logged once until a look succeeds.
  enum class Look : unsigned char { kAll, kFailed, kGone, kNewer };
  Look look(StoreReader& reader, const KnownAs& known_as = {});

 private:
  Runtime& runtime_;
  // The last fact read; none: all facts came from a checkpoint, or the store is empty.
  std::optional<Fact> last_;
  // True: the last look failed.
  bool failed_ = false;
};

// Calls open_shared_store() again and again while the database's server is unreachable, unless
// `options.stop` ends that. Calls `away` after each failure.
Result<std::unique_ptr<SharedStore>> open_once_there(const PostgresOptions& options,
                                                     const std::function<void()>& away = nullptr);

// Tries to lead until it succeeds, and follows the store meanwhile. The store decides which process
// leads; a standby only asks for the lead. Threads:
// one thread calls begin(), then start() and stop().
class Standby {
 public:
  // The objects that a standby uses. The references and pointers outlive it.
  struct Ports {
    // The standby takes the lead only if `known` allows it.
    SharedStore& store;
    Runtime& runtime;
    // Gets the released facts. nullptr: the replica has no DurableMark, and always may lead.
    DurableMark* known;
    // Called on the standby's thread once this process leads and the runtime has all facts. An
    // error ends the process.
    std::function<std::optional<Error>()> take_over;
    // Ends the process after an error on the standby's thread.
    Fatal fatal;
    // True: the start of the process must end.
    std::function<bool()> stop;
    // Called while begin() waits for a database that is unreachable. May be empty.
    std::function<void()> away = nullptr;
  };
  explicit Standby(Ports ports);
  // stop()
  ~Standby();
  Standby(const Standby&) = delete;
  Standby& operator=(const Standby&) = delete;

  // Returns true once this process leads, or false once another process leads and the runtime
  // follows. An error: neither is possible.
  Result<bool> begin();
  // Starts a thread that looks every limits::kLeadLookMs until this process leads. Call it after
  // begin() returned false.
  void start();

  // try_begin() is one round of begin(), look() one round of the thread. Both do not wait.
  // Simulations of faults call them too, from one thread.
  // kNotYet: the process can neither lead nor follow now, for example while the database is
  // unreachable. Call try_begin() again.
  enum class Begun : unsigned char { kLeads, kFollows, kNotYet };
  Result<Begun> try_begin();
  // Returns true once this process leads and the runtime has all facts. An error:
  // the process must end.
  Result<bool> look();
  // Stops the thread, after a take-over that is in progress. Idempotent.
  void stop();

 private:
  // The thread's work: calls wait_and_lead(). An error of it ends the process.
  void run();
  // Looks until this process leads, then takes over. nullopt: it took over, or was stopped.
  std::optional<Error> wait_and_lead();
  // Compares the store with this replica's last durable sequence, if possible.
  std::optional<Error> compare();
  // Checks once more that this process may lead, after it took the lead in the first round.
  Result<Begun> led_at_once();
  // Reads the whole store and serves reads from then on.
  Result<Begun> follow();
  bool may_lead() const { return ports_.known == nullptr || ports_.known->may_lead(); }
  // Returns the error for a database that no longer has a fact that this process has read.
  Error gone() const;
  // Waits for limits::kLeadLookMs. False: stop() was called.
  bool pause();

  Ports ports_;
  StoreTail tail_;
  // Opened by the first compare(); nullptr before.
  std::unique_ptr<StoreReader> reader_;
  // True: the last look at the leader failed.
  bool failed_ = false;
  // True: the store was compared with `known`.
  bool compared_ = false;
  // True: the last look read all facts.
  bool has_all_ = false;
  // The user names that the leader stored last.
  KnownAs known_as_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
