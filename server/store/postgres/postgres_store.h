// The store of those who need more than one machine: a PostgreSQL database. One process leads: it has raised the
// epoch, and each batch checks that it is still the same, in its own transaction. Others wait until it gives the lead
// up or shows no sign of life; if it was only asleep, it finds out at its next commit, and ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/error.h"
#include "engine/fact.h"
#include "server/runtime/database_clock.h"
#include "server/runtime/ports.h"

namespace subak {

struct PostgresOptions {
  std::string address;           // postgres://user@host/database (server/store/postgres/address.h)
  const Clock* clock = nullptr;  // outlives the store
  std::string holder;            // what others are told of who leads: host and process
  // The newest version of facts that this program knows; a test plays an older program with less.
  std::uint32_t fact_version = kFactVersion;
  // Leaves the checkpoint out: the state comes from all facts.
  bool ignore_checkpoint = false;
  // Refuses a server without synchronous standbys, on which a commit is lost with the server's machine.
  bool replicated = false;
  // Of a store that is made now, and is to be a copy of another: whoever opens one that has facts already is refused.
  // Empty: any store.
  std::string uuid{};
  // Takes the lead from whoever has it, instead of waiting until nobody leads.
  bool take_lead = false;
  // Asked before the lead is taken: false leaves it to others, for now. None: it may always be taken. Threads: that of
  // try_lead().
  std::function<bool()> may_lead{};
  // At which clients reach this process once it leads; empty: they are not told.
  std::string advertise{};
  // Asked while open_postgres_store() waits for the lead, and while a commit waits for its database: true ends that
  // with an error. None: it waits for ever.
  std::function<bool()> stop{};
  // Called once, on a thread of the store's, when this one led and another process is seen to lead. None: the next
  // commit says so.
  std::function<void(const Error&)> on_lost{};
  // What the database's clock shows, with each look at who leads and each sign of life. Threads: any.
  std::function<void(const ClockSample&)> on_time{};
  // The file that make_copy() writes; empty: it makes none.
  std::string copy_path{};
};

// A store that others have open too. Until it leads, its readers, lead(), describe() and read_told() work, once whoever
// leads has made the tables.
class SharedStore : public Store {
 public:
  // One look at who leads. True: we do, as nobody did: the lead is taken, the tables are as this program wants them,
  // and commits may come. A store of a newer version is left to others: says_newer(). An error before that (leads() says
  // so) is that of one look, and the next may do better; later ones are final. Threads: one, before the first commit.
  virtual Result<bool> try_lead() = 0;
  virtual bool leads() const = 0;
  // While it leads: the lead was taken from a process that this one had seen at work and that gave it up to nobody. Else it
  // was nobody's, or of one that was silent when this process came. Threads: that of try_lead().
  virtual bool took_over() const = 0;
  // Looks whether whoever leads gives signs of life, and takes nothing: for who is busy between two calls of try_lead(),
  // and calls this often; it looks now and then. Threads: that of try_lead().
  virtual void watch() {}
  // Whoever leads was seen to commit, which is a sign of life. Threads: that of try_lead().
  virtual void note_alive() {}
  // No commit comes any more: another process may go on. A checkpoint that is still written is refused once one does.
  // Threads: one, after the one that commits has ended. Closing the store does it too.
  virtual void give_up_lead() = 0;
  // What others are told in Lead::known_as while this one leads; a moment later. Threads: any.
  virtual void tell(const KnownAs& known_as) = 0;
};

// Connects and checks the server (it must keep what it says it kept: fsync, full_page_writes, synchronous_commit). Errors
// say what is wrong and what to do. A commit whose outcome is not known, as the line was cut or the server ended, is
// looked up under a new epoch and is then there, or committed again under the same numbers, for as long as the database
// is away.
Result<std::unique_ptr<SharedStore>> open_shared_store(const PostgresOptions& options);
// No server could be reached, or it went in the middle of something: another try may do better.
bool says_away(const Error& error);
// This one led, and another process does by now: nothing is wrong, and it begins anew as a standby.
bool says_other_leads(const Error& error);
// The store was finalized to a version of facts that this program does not know: another try will not help.
bool says_newer(const Error& error);
// The same as open_shared_store(), and waits until it leads.
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options);

}  // namespace subak
