// The namespaces whose label names an account, or did. Threads: none; the cache owns it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "server/edge/cache/list_round.h"
#include "server/edge/cache/outbox.h"
#include "server/edge/client/watch_stream.h"

namespace subak {

class NamespaceCache {
 public:
  // Changes of labels go into the outbox, which outlives the cache.
  explicit NamespaceCache(Outbox& outbox) : outbox_(outbox) {}
  // The next list sends all labels again. The caller clears the outbox.
  void clear() { entries_.clear(); }

  // A list of all namespaces begins.
  void begin() { round_.begin(); }
  // Takes an event of the list or of the watch. A namespace without the label, which never had it,
  // costs no memory.
  void see(const WatchEvent& event);
  // Forgets the namespaces that the list did not name. False: see ListRound::believe().
  // The core then gets an update without an account for each.
  bool complete();

 private:
  struct Entry {
    // The account that the core has; empty: the label was removed.
    std::string account;
    // The last list that named the namespace, as ListRound::number().
    std::uint32_t list = 0;
  };
  // Puts the account of the namespace into the outbox.
  // An empty account: no label.
  void tell(const std::string& ns, const std::string& account);

  Outbox& outbox_;
  std::map<std::string, Entry> entries_;  // by name
  ListRound round_;
};

}  // namespace subak
