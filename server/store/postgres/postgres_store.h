// The store for more than one machine: a PostgreSQL database. To lead, a process raises the epoch.
// The transaction of each of its batches checks that the epoch is unchanged. Other processes wait
// until the leader gives the lead up or sends no heartbeat. If a leader only slept and another
// process leads now, its next commit fails, and it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/error.h"
#include "model/fact.h"
#include "server/runtime/clock/database_clock.h"
#include "server/runtime/ports.h"

namespace subak {

struct PostgresOptions {
  std::string address;  // postgres://user@host/database (server/store/postgres/database/address.h)
  const Clock* clock = nullptr;  // outlives the store
  std::string holder;            // name of this leader for other replicas: host and process
  // The newest fact version that this program knows. A test sets a lower one, to
  // act as an older program.
  std::uint32_t fact_version = kFactVersion;
  // True: ignores the checkpoint, so the state is rebuilt from all facts.
  bool ignore_checkpoint = false;
  // True: refuses a server without synchronous standbys. On such a server, commits are lost if its
  // machine is lost.
  bool replicated = false;
  // The uuid for a new store that becomes a copy of another store. A database with facts is then
  // refused. Empty: any store is accepted.
  std::string uuid{};
  // True: takes the lead from a present leader, without waiting until the lead is free.
  bool take_lead = false;
  // Called before this process takes the lead. False: it does not take the lead now. Unset: it
  // always may. Threads: that of try_lead().
  std::function<bool()> may_lead{};
  // The address at which clients reach this process once it leads; empty: they get no address.
  std::string advertise{};
  // Called while open_postgres_store() waits for the lead, and while a commit waits for the
  // database. True: the wait ends with an error. Unset: it waits for ever.
  std::function<bool()> stop{};
  // Called once, on a thread of the store, when this process led and another process leads now.
  // Unset: the next commit returns that error.
  std::function<void(const Error&)> on_lost{};
  // Gets the database's time, with each look at the leader and each heartbeat. Threads: any.
  std::function<void(const ClockSample&)> on_time{};
  // The file that make_copy() writes; empty: make_copy() makes no copy.
  std::string copy_path{};
};

// A store that several processes share. Before this process leads, only readers, lead(), describe()
// and read_calibration() work, once the leader has made the tables.
class SharedStore : public Store {
 public:
  // Looks once at the leader, and takes the lead if it is free. True: this process leads, the
  // tables are migrated, and it may commit. It does not lead a store of a newer version
  // (says_newer()). After an error while leads() is false, the next call may succeed. After an
  // error while leads() is true, no call succeeds. Threads: one, before the first commit.
  virtual Result<bool> try_lead() = 0;
  virtual bool leads() const = 0;
  // While this process leads: true if it took the lead from a process that it had seen at work and
  // that did not give the lead up. False: the lead was free, or its holder was already silent at
  // the first look. Threads: that of try_lead().
  virtual bool took_over() const = 0;
  // Watches the leader's heartbeats without taking the lead. A caller that is busy between two
  // calls of try_lead() should call it often; it looks only from time to time. Threads:
  // that of try_lead().
  virtual void watch() {}
  // Records a commit of the leader, which is a sign of life. Threads: that of try_lead().
  virtual void note_alive() {}
  // Gives the lead up: no commit may follow, and another process may lead. Once another process
  // leads, the database refuses a checkpoint that is still being written. Destroying the store
  // gives the lead up too. Threads: one, after the committing thread has ended.
  virtual void give_up_lead() = 0;
  // Sets Leadership::known_as for other replicas while this process leads. They see it a moment
  // later. Threads: any.
  virtual void tell(const KnownAs& known_as) = 0;
};

// Connects and checks the server: fsync, full_page_writes and synchronous_commit must be on. An
// error names the cause and the remedy.
//
// If the connection or the server fails during a commit, the outcome of the commit is unknown. The
// store then raises its epoch and looks for the batch in the database. If the batch is missing, it
// commits the batch again with the same numbers. It repeats this as long as the
// database is unreachable.
Result<std::unique_ptr<SharedStore>> open_shared_store(const PostgresOptions& options);
// True if no server was reachable, or if the connection broke. Another attempt may succeed.
bool says_away(const Error& error);
// True if this process led and another process leads now. This process then restarts as a standby.
bool says_other_leads(const Error& error);
// True if the store was finalized to a fact version that this program does not know. Another
// attempt does not help.
bool says_newer(const Error& error);
// As open_shared_store(), but returns only once this process leads.
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options);

}  // namespace subak
