// The store for more than one machine: a PostgreSQL database. Of the processes that share the
// database, only the leader commits. To take the lead, a process raises the epoch, a number in the
// database. The transaction of each batch checks that the epoch is still that of the process. Other
// processes wait until the leader gives the lead up, or sends no heartbeat for a while. If a leader
// has slept and another process leads now, the next commit of the old leader fails, and the old
// leader ends.
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

// The options of a PostgreSQL store.
struct PostgresOptions {
  std::string address;  // postgres://user@host/database (server/store/postgres/database/address.h)
  const Clock* clock = nullptr;  // must outlive the store
  std::string holder;            // name of this process for other replicas: host and process
  // The newest fact version that this program knows. A test sets a lower version, so that the
  // program acts like an older program.
  std::uint32_t fact_version = kFactVersion;
  // True: the checkpoint is ignored, so the state is rebuilt from all facts.
  bool ignore_checkpoint = false;
  // True: a server without synchronous standbys is refused. The loss of such a server's machine
  // would lose commits.
  bool replicated = false;
  // The uuid for a new store that becomes a copy of another store. If it is set, a database with
  // facts is refused. Empty: any store is accepted.
  std::string uuid{};
  // True: this process takes the lead at once, even if another process leads.
  bool take_lead = false;
  // Called before this process takes the lead. If it returns false, the process does not take the
  // lead now. Unset: the process may always take the lead. Threads: the thread of try_lead().
  std::function<bool()> may_lead{};
  // The address at which clients reach this process while it leads; empty: clients get no address.
  std::string advertise{};
  // Called while open_postgres_store() waits for the lead, and while a commit waits for the
  // database. If it returns true, the wait ends with an error. Unset: the store waits for ever.
  std::function<bool()> stop{};
  // Called once, on a thread of the store, if this process has led and another process leads now.
  // Unset: the next commit returns that error.
  std::function<void(const Error&)> on_lost{};
  // Gets the database's time with each look at the leader and with each heartbeat. Threads: any.
  std::function<void(const ClockSample&)> on_time{};
  // The path of the file that make_copy() writes; empty: make_copy() makes no copy.
  std::string copy_path{};
};

// A store that several processes share. Before this process leads, only readers, lead(),
// describe(), read_calibration() and read_activity() work. They work only once a leader has made
// the tables.
class SharedStore : public Store {
 public:
  // Looks once at the leader, and takes the lead if the lead is free. True: this process leads, the
  // tables are migrated, and this process may commit. It refuses to lead a store of a newer version
  // (says_newer()). After an error while leads() is false, a later call may succeed. After an error
  // while leads() is true, no later call succeeds. Threads: one at a time, before the first commit.
  virtual Result<bool> try_lead() = 0;
  virtual bool leads() const = 0;
  // Says how this process got the lead. True: this process took the lead from a process that it had
  // seen at work, and that had not given the lead up. False: the lead was free, or the holder was
  // silent from the first look on. Call it only while this process leads. Threads: the thread of
  // try_lead().
  virtual bool took_over() const = 0;
  // Watches the leader's heartbeats without taking the lead. A caller that is busy for long between
  // two calls of try_lead() should call watch() often. Most calls do nothing, since watch() reads
  // the database only from time to time. Threads: the thread of try_lead().
  virtual void watch() {}
  // Records that the leader has made a commit, which is a sign of life. Threads: the thread of
  // try_lead().
  virtual void note_alive() {}
  // Gives the lead up. No commit may follow, and another process may take the lead. When another
  // process leads, the database refuses the rest of a checkpoint that this process is still
  // writing. The destructor of the store gives the lead up too. Threads: one at a time, after the
  // committing thread has ended.
  virtual void give_up_lead() = 0;
  // Sets Leadership::known_as for the other replicas while this process leads. The other replicas
  // see the new value a moment later. Threads: any.
  virtual void tell(const KnownAs& known_as) = 0;
};

// Connects and checks the server: fsync, full_page_writes and synchronous_commit must be on. An
// error names the cause and says what to do.
//
// If the connection or the server fails during a commit, the outcome of the commit is unknown. The
// store then raises its epoch and looks for the batch in the database. If the batch is missing, the
// store commits the batch again, with the same numbers. As long as the database is unreachable, the
// store tries this again and again.
Result<std::unique_ptr<SharedStore>> open_shared_store(const PostgresOptions& options);
// True if the error says that no server was reachable, or that the connection broke. Another
// attempt may succeed.
bool says_away(const Error& error);
// True if the error says that this process has led and another process leads now. This process must
// then restart, and becomes a standby.
bool says_other_leads(const Error& error);
// True if the error says that the store was finalized to a fact version that this program does not
// know. Another attempt does not help.
bool says_newer(const Error& error);
// Works as open_shared_store(), but it returns only when this process leads.
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options);

}  // namespace subak
