// The store for more than one machine: a PostgreSQL database. One process leads: it has raised the
// epoch, and the transaction of each batch checks that the epoch is unchanged. Other processes wait
// until it gives the lead up or sends no heartbeat. A leader that was only asleep finds out at its
// next commit, and ends.
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
  // The newest fact version that this program knows; a test plays an older program with less.
  std::uint32_t fact_version = kFactVersion;
  // Ignores the checkpoint: the state comes from all facts.
  bool ignore_checkpoint = false;
  // Refuses a server without synchronous standbys, on which a commit is lost with the server's
  // machine.
  bool replicated = false;
  // The uuid of a new store that is to be a copy of another. A database that has facts already is
  // refused. Empty: any store.
  std::string uuid{};
  // Takes the lead from a present leader, without waiting until the lead is free.
  bool take_lead = false;
  // Called before the lead is taken: false leaves it to other processes for now. None: always true.
  // Threads: that of try_lead().
  std::function<bool()> may_lead{};
  // Where clients reach this process once it leads; empty: they get no address.
  std::string advertise{};
  // Called while open_postgres_store() waits for the lead, and while a commit waits for its
  // database: true ends that with an error. None: it waits for ever.
  std::function<bool()> stop{};
  // Called once, on a thread of the store's, when this process led and another process leads now.
  // None: the next commit reports it.
  std::function<void(const Error&)> on_lost{};
  // Gets the database's clock, with each look at the leader and each heartbeat. Threads: any.
  std::function<void(const ClockSample&)> on_time{};
  // The file that make_copy() writes; empty: it makes none.
  std::string copy_path{};
};

// A shared store. Until it leads, its readers, lead(), describe() and read_calibration() work, once
// the leader has made the tables.
class SharedStore : public Store {
 public:
  // Looks once at the leader. True: the lead was free and this process took it, the tables are
  // migrated, and commits may come. A store of a newer version is left to other processes:
  // says_newer(). An error while leads() is false is that of one look, and the next may succeed;
  // later errors are final. Threads: one, before the first commit.
  virtual Result<bool> try_lead() = 0;
  virtual bool leads() const = 0;
  // While it leads: true if it took the lead from a process that it had seen at work and that did
  // not give it up. Else the lead was free, or its holder was silent when this process came.
  // Threads: that of try_lead().
  virtual bool took_over() const = 0;
  // Watches the leader's heartbeats without taking the lead. For callers that are busy between two
  // calls of try_lead(): call it often; it looks from time to time. Threads: that of try_lead().
  virtual void watch() {}
  // Records a commit of the leader, which is a sign of life. Threads: that of try_lead().
  virtual void note_alive() {}
  // Gives the lead up: no commit follows, and another process may go on. A checkpoint that is still
  // being written is refused once it does. Closing the store does it too. Threads: one, after the
  // committing thread has ended.
  virtual void give_up_lead() = 0;
  // Sets Leadership::known_as for other replicas while this process leads; they see it a moment
  // later. Threads: any.
  virtual void tell(const KnownAs& known_as) = 0;
};

// Connects and checks the server: fsync, full_page_writes and synchronous_commit must be on. Errors
// say what is wrong and name the remedy.
//
// A commit's outcome is unknown if the connection or the server broke. It is then looked up under a
// new epoch. The batch is found, or committed again under the same numbers. This goes on for as
// long as the database is away.
Result<std::unique_ptr<SharedStore>> open_shared_store(const PostgresOptions& options);
// True if no server was reachable, or it broke in the middle: another attempt may succeed.
bool says_away(const Error& error);
// True if this process led and another process leads now: it restarts as a standby.
bool says_other_leads(const Error& error);
// True if the store was finalized to a fact version that this program does not know: another
// attempt does not help.
bool says_newer(const Error& error);
// As open_shared_store(), and waits until it leads.
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options);

}  // namespace subak
