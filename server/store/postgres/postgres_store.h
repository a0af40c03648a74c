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
  // Asked while it waits for the lead: true ends that with an error. None: it waits for ever.
  std::function<bool()> stop{};
  // Called while it waits, at each look.
  std::function<void(StoreReader&)> while_waiting{};
  // The file that make_copy() writes; empty: it makes none.
  std::string copy_path{};
};

// Connects, checks the server (it must keep what it says it kept: fsync, full_page_writes, synchronous_commit), waits for the lead, takes it
// and migrates. Errors say what is wrong and what to do. A commit whose outcome is not known, as the line was cut or the
// server ended, is looked up under a new epoch and is then there, or committed again under the same numbers; after
// limits::kDatabaseAwayMs without the database the commit fails for good.
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options);

// `store` is one of these, and no commit comes any more: another process may go on with it. A checkpoint that is still
// written is refused once one does. Call it after the thread that commits has ended; closing the store does it too.
void give_up_lead(Store& store);

}  // namespace subak
