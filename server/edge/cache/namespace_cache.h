// The labels of namespaces that name the account (a team) of the jobs there. The cache puts each
// new, changed or removed label into the outbox for the core, the engine that decides. Threads: one
// at a time; ClusterCache owns the cache.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "server/edge/cache/list_round.h"
#include "server/edge/cache/outbox.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

// For a list of all namespaces, call begin(), then see() for each, then complete(). Between lists,
// see() takes the events of the watch.
class NamespaceCache {
 public:
  // The cache puts changes of labels into `outbox`, which must outlive the cache.
  explicit NamespaceCache(Outbox& outbox) : outbox_(outbox) {}
  // Forgets all namespaces, so that the core gets all labels again from the next list. The caller
  // must clear the outbox.
  void clear() { entries_.clear(); }

  // A list of all namespaces begins.
  void begin() { round_.begin(); }
  // Takes an event of the list or of the watch. A namespace that never had the label gets no entry.
  void see(const WatchEvent& event);
  // The list is complete. Returns false, and changes nothing, if the list lacks so many namespaces
  // that it is probably wrong (ListRound::believe()). Otherwise drops the namespaces that the list
  // did not name. For each of them, the core gets an update without an account.
  bool complete();

 private:
  struct Entry {
    // The account that the core got; empty: the label was removed.
    std::string account;
    // The number of the last list that named the namespace (ListRound::number()).
    std::uint32_t list = 0;
  };
  // Puts the account of the namespace into the outbox. An empty `account` means that the namespace
  // has no label.
  void tell(const std::string& ns, const std::string& account);

  Outbox& outbox_;
  std::map<std::string, Entry> entries_;  // by name
  ListRound round_;
};

}  // namespace subak
