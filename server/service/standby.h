// What a replica does while another leads: it keeps up with the store, so that it can serve reads and has nothing to
// read when it takes over.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/error.h"
#include "engine/fact.h"
#include "server/runtime/fatal.h"
#include "server/runtime/runtime.h"
#include "server/service/known_facts.h"
#include "server/store/postgres/postgres_store.h"

namespace subak {

// Feeds a runtime with the facts of a store that another process writes. Threads: one at a time.
class StoreTail {
 public:
  // `runtime` outlives it.
  explicit StoreTail(Runtime& runtime) : runtime_(runtime) {}
  // Reads all of the store: Runtime::follow(). `meanwhile` is called often while it does.
  Result<Recovered> begin(const std::function<void()>& meanwhile = nullptr);
  // Hands over what has come since the last look, and what the leader says of itself. kGone: the last fact that was
  // read is not there any more, as after a failover to a copy of the database that lacked it: what is known is not the
  // store's, and the process has to begin anew. kNewer: whoever leads finalized the store to a version of facts that this
  // program does not know. An error is logged, once until a look succeeds.
  enum class Look : unsigned char { kAll, kFailed, kGone, kNewer };
  Look look(StoreReader& reader, const KnownAs& known_as = {});

 private:
  Runtime& runtime_;
  // That was read; none: all that is known came from a checkpoint, or there is nothing.
  std::optional<Fact> last_;
  bool failed_ = false;  // the last look
};

// open_shared_store(), tried again for as long as the database's server cannot be reached and `options.stop` does not say
// that this is to end. `away` is called each time that it cannot be.
Result<std::unique_ptr<SharedStore>> open_once_there(const PostgresOptions& options,
                                                     const std::function<void()>& away = nullptr);

class Standby {
 public:
  struct Ports {
    SharedStore& store;  // leads only where `known` may
    Runtime& runtime;
    KnownFacts*
        known;  // sees what the runtime releases; nullptr: nothing is known but what the store has
    // On the standby's thread, once it leads and the runtime knows all facts. An error ends the process.
    std::function<std::optional<Error>()> take_over;
    Fatal fatal;
    // The start of the process is to be given up.
    std::function<bool()> stop;
    // begin() waits for a database that is away. May be empty.
    std::function<void()> away = nullptr;
  };
  explicit Standby(Ports ports);
  ~Standby();  // stop()
  Standby(const Standby&) = delete;
  Standby& operator=(const Standby&) = delete;

  // Returns once it leads (true), or once another does and the runtime follows (false). An error: neither can be.
  Result<bool> begin();
  // After that said false: goes on looking every limits::kLeadLookMs on a thread, until it leads.
  void start();

  // What the two do each time, without waiting: for them, and for simulations of faults, by one thread.
  enum class Begun : unsigned char { kLeads, kFollows, kNotYet };
  Result<Begun> try_begin();
  // True: it leads, and the runtime knows all facts. An error: the process has to end.
  Result<bool> look();
  // Idempotent. A take-over that has begun is finished first.
  void stop();

 private:
  void run();
  std::optional<Error> wait_and_lead();
  // Whether the store has what this replica knows, as far as that can be told.
  std::optional<Error> compare();
  Result<Begun> led_at_once();
  Result<Begun> follow();
  bool may_lead() const { return ports_.known == nullptr || ports_.known->may_lead(); }
  Error gone() const;
  bool pause();  // false: it is stopped

  Ports ports_;
  StoreTail tail_;
  std::unique_ptr<StoreReader> reader_;
  bool failed_ = false;  // the last look at who leads
  bool compared_ = false;
  bool has_all_ = false;  // the last look at the facts came to their end
  KnownAs known_as_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace subak
