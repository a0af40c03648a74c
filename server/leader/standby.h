// A standby follows the leader, and may take over. Of the processes that share a database, one
// leads: it decides, and stores facts (durable decisions). A standby reads these facts as they
// come. So it can serve reads, and has few facts left to read when it takes the lead.
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

// Passes the facts that another process writes into the store to a runtime. Threads: one at a time.
class StoreTail {
 public:
  // `runtime` must outlive this object.
  explicit StoreTail(Runtime& runtime) : runtime_(runtime) {}
  // Reads the whole store by Runtime::follow(). It calls `meanwhile` often until the store is read.
  // Call begin() once, before look().
  Result<Recovered> begin(const std::function<void()>& meanwhile = nullptr);
  // Passes the facts since the last look, and the names by which API servers know the leader
  // (KnownAs), to the runtime.
  // The result is:
  // - kAll: the runtime has all facts that the store had.
  // - kGone: the store no longer has the last fact that was read, for example after a failover to a
  //   copy of the database that lacked this fact. The state of this process then differs from the
  //   store, so the process must restart.
  // - kNewer: the leader has finalized the store to a fact version that this program does not know.
  // - kFailed: the store could not be read. The first error is logged, and then no further one
  //   until a look succeeds.
  enum class Look : unsigned char { kAll, kFailed, kGone, kNewer };
  Look look(StoreReader& reader, const KnownAs& known_as = {});

 private:
  Runtime& runtime_;
  // The last fact that was read; nullopt: all facts came from a checkpoint, or the store is empty.
  std::optional<Fact> last_;
  // True: the last look failed.
  bool failed_ = false;
};

// Calls open_shared_store() again and again while the database's server is unreachable, until
// `options.stop` returns true. Calls `away` after each failure.
Result<std::unique_ptr<SharedStore>> open_once_there(const PostgresOptions& options,
                                                     const std::function<void()>& away = nullptr);

// Asks for the lead until this process leads, and follows the store meanwhile. The store decides
// which process leads. Threads: one thread calls begin(), then start() and stop().
class Standby {
 public:
  // What a standby uses. The objects of the references and pointers must outlive the standby.
  struct Ports {
    // The store that the processes share. The store decides which of the processes leads.
    SharedStore& store;
    Runtime& runtime;
    // The last fact that this process knows to be durable. The standby compares the store with it,
    // and leads only if DurableMark::may_lead() is true. nullptr: this process has no mark, and may
    // always lead.
    DurableMark* known;
    // Called on the standby's thread when this process leads and the runtime has all facts. If it
    // returns an error, the process ends.
    std::function<std::optional<Error>()> take_over;
    // Called on the standby's thread after an error there. `fatal` ends the process.
    Fatal fatal;
    // begin() calls `stop` while it waits. True: the process must stop, so begin() returns an
    // error. `stop` may be empty.
    std::function<bool()> stop;
    // Called again and again while begin() waits for a database that is unreachable. `away` may be
    // empty.
    std::function<void()> away = nullptr;
  };
  explicit Standby(Ports ports);
  // Calls stop().
  ~Standby();
  Standby(const Standby&) = delete;
  Standby& operator=(const Standby&) = delete;

  // Waits until this process leads or follows. Returns true if it leads, and false if another
  // process leads and the runtime follows. An error: `stop` returned true, or this process can
  // neither lead nor follow, and waiting would not help.
  Result<bool> begin();
  // Starts a thread that calls look() every limits::kLeadLookMs until this process leads. Call it
  // after begin() has returned false.
  void start();

  // The result of try_begin(). kNotYet: this process can neither lead nor follow now, for example
  // because the database is unreachable. Call try_begin() again later.
  enum class Begun : unsigned char { kLeads, kFollows, kNotYet };
  // Does one round of begin(), without waiting. Simulations of faults call it too.
  Result<Begun> try_begin();
  // Does one round of the thread of start(), without waiting. Returns true if this process leads
  // and the runtime has all facts. An error: the process must end. Simulations of faults call it
  // too.
  Result<bool> look();
  // Stops the thread. If `take_over` runs, stop() waits until that returns. A second call does
  // nothing.
  void stop();

 private:
  // The main function of the thread: calls wait_and_lead(). If that returns an error, the process
  // ends.
  void run();
  // Calls look() until this process leads, then calls `take_over`. nullopt: `take_over` succeeded,
  // or stop() was called.
  std::optional<Error> wait_and_lead();
  // Opens the reader if it is not open, and calls DurableMark::compare().
  std::optional<Error> compare();
  // Checks again that this process may lead, after it has taken the lead in try_begin().
  Result<Begun> led_at_once();
  // Reads the whole store, so that this process can serve reads from then on.
  Result<Begun> follow();
  bool may_lead() const { return ports_.known == nullptr || ports_.known->may_lead(); }
  // Returns the error for a database that no longer has a fact that this process has read.
  Error gone() const;
  // Waits for limits::kLeadLookMs, or until stop() is called. False: stop() was called.
  bool pause();

  // Only one thread at a time uses the members up to `known_as_`, so they need no lock: first the
  // caller of begin(), then the thread of start().
  Ports ports_;
  StoreTail tail_;
  // Opened by the first compare(); nullptr before.
  std::unique_ptr<StoreReader> reader_;
  // True: the last attempt to ask for the lead or to follow failed, and that was logged.
  bool failed_ = false;
  // True: the store was compared with `known`.
  bool compared_ = false;
  // True: the last look() has read all facts of the store.
  bool has_all_ = false;
  // The user names that the leader stored last.
  KnownAs known_as_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
