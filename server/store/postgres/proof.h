// All rows of a database read and proved: each is what was written, and none is missing. What is committed while it
// reads is left out. Private to server/store/postgres.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "core/error.h"
#include "server/store/postgres/address.h"
#include "server/store/postgres/pg_connection.h"

namespace subak::postgres {

// The first place that is wrong; an error too where `wanted` says no on the way. Facts, ledger, audit log, and the fact
// that the checkpoint was made of; a start proves the checkpoint's own rows. `seed`: what the sums begin with;
// `fact_version`: the newest that this program knows.
std::optional<Error> prove_rows(PgConnection& db, std::uint32_t seed, std::uint32_t fact_version,
                                const std::function<bool()>& wanted);

// The same on a thread and a connection of its own: a database that is too large to be proved before the service starts
// is proved beside it. The log says how it ended.
class Proof {
 public:
  ~Proof();
  void start(const Address& address, std::uint32_t seed, std::uint32_t fact_version);
  void wait();  // until it is done

 private:
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace subak::postgres
