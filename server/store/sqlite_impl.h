// The write side of the SQLite store. open_sqlite_store() (sqlite_store.h) is what others use.
#pragma once

#include <memory>
#include <string>

#include "server/codec/packed_facts.h"
#include "server/runtime/ports.h"
#include "server/store/audit_rows.h"
#include "server/store/connection.h"
#include "server/store/ledger_rows.h"
#include "server/store/lock_file.h"
#include "server/store/sqlite_store.h"
#include "server/store/wal_copier.h"
#include "server/store/write_gate.h"

namespace subak {

inline constexpr char kCopySuffix[] = ".copy";  // make_copy() writes there

class SqliteStore final : public Store {
 public:
  SqliteStore(const SqliteOptions& options, LockFile lock)
      : path_(options.path), known_version_(options.fact_version), lock_(std::move(lock)) {}
  // Checks, migrates and prepares; nothing else works before.
  std::optional<Error> open(const SqliteOptions& options);

  std::optional<Error> commit(std::span<const Fact> facts) override;
  std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) override;
  Result<std::unique_ptr<StoreReader>> open_reader() override;
  Result<std::string> make_copy(const std::function<bool()>& wanted) override;
  std::string describe() const override { return "sqlite " + path_; }

 private:
  std::optional<Error> take_ownership();
  std::optional<Error> check_whole();
  std::optional<Error> read_version();
  std::optional<Error> prepare(int wal_pages);
  Result<std::uint32_t> version_after(std::span<const Fact> facts) const;
  bool set_version(std::uint32_t version);
  bool insert(const Fact& fact);
  bool insert_kept(std::uint64_t seq, std::size_t ord, const PackedFacts::Row& row);
  std::optional<Error> write_chunk(std::uint64_t seq, PackedFacts::Cursor& facts, std::size_t from,
                                   std::size_t to);
  std::optional<Error> use_checkpoint(std::uint64_t seq, std::size_t facts);
  std::optional<Error> drop_checkpoints_except(std::uint64_t seq);

  const std::string path_;
  const std::uint32_t known_version_;
  LockFile lock_;
  WriteGate gate_;  // whoever is in it may use db_ and the statements
  Connection db_;
  Statement begin_, commit_, rollback_, insert_fact_, insert_kept_, drop_kept_;
  LedgerWriter ledger_;
  AuditWriter audit_;
  std::string body_;  // of the row that is being written
  std::uint64_t last_seq_ = 0;
  std::uint64_t checkpoint_seq_ = 0;
  std::uint32_t version_ = 1;  // of the facts
  WalCopier copier_{gate_};
};

}  // namespace subak
