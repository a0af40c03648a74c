// Reads on a connection of their own, each of one consistent picture (a repeatable read). Facts and a checkpoint are
// proved whole by their chain of sums; rows of the ledger and the audit log each by its own sum, that none is missing
// is the database's word.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/runtime/ports.h"
#include "server/store/postgres/address.h"
#include "server/store/postgres/rows.h"

namespace subak::postgres {

class PostgresReader final : public StoreReader {
 public:
  // `fact_version`: the newest that this program knows.
  static Result<std::unique_ptr<StoreReader>> open(const Address& address,
                                                   std::uint32_t fact_version);
  PostgresReader(Address address, std::uint32_t fact_version)
      : address_(std::move(address)), fact_version_(fact_version) {}

  Result<Recovered> recover(FactSink& sink) override;
  Result<std::vector<Fact>> facts(std::uint64_t after_seq, std::size_t most) override;
  Result<std::vector<LedgerEntry>> ledger(const LedgerQuery& query) override;
  Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery& query) override;
  Result<std::vector<AuditEntry>> audit(const AuditQuery& query) override;

 private:
  // Begins the picture, on a new connection where the last one broke, calls read() and ends it.
  template <class T, class F>
  Result<T> in_picture(F&& read);
  std::optional<Error> begin();
  std::optional<Error> seed();
  Result<Fact> fact_of(std::uint64_t seq, TimeMs time_ms, std::uint32_t kind,
                       std::string_view body);
  std::optional<Error> recover_checkpoint(FactSink& sink, Recovered& out, std::uint32_t& anchor);
  std::optional<Error> read_part(const PgResult& rows, std::uint64_t part, Recovered& out,
                                 std::uint32_t& sum, FactSink& sink);
  // Calls fn(fact) for the facts after `after`, at most `most`; they go on from the sum `anchor`.
  std::optional<Error> each_fact(std::uint64_t after, std::uint32_t anchor, std::uint64_t most,
                                 const std::function<void(Fact)>& fn);
  // Calls fn(entry) for the rows that the query wants, in order, until it returns false.
  std::optional<Error> each_entry(const LedgerQuery& query,
                                  const std::function<bool(LedgerEntry)>& fn);
  // The last fact that was made at or before `t`; a row whose interval ends after `t` comes later.
  Result<std::uint64_t> last_seq_until(TimeMs t);

  const Address address_;
  const std::uint32_t fact_version_;
  std::uint32_t seed_ = 0;
  PgConnection db_;
};

}  // namespace subak::postgres
