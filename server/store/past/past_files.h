// The past checkpoints of a SQLite store, in files beside it. Each file has one past checkpoint,
// and its name is the number of the last fact. The files may be lost: reads of the past then take
// longer. Threads: those that may use the connection; only one thread at a time writes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/file/connection.h"
#include "server/store/past/past_table.h"

namespace subak {

// The folder for the store PATH is PATH.past.
inline constexpr char kPastSuffix[] = ".past";

class PastFiles final : public PastTable {
 public:
  // `db`: a connection to the store, which must outlive the object. `seed`: the start of the
  // store's checksums.
  PastFiles(Connection& db, std::uint32_t seed)
      : db_(db), folder_(db.path() + kPastSuffix), seed_(seed) {}
  // Reads the heads of all files. Files that are damaged, or of another history, are left out.
  Result<std::vector<StoredCheckpoint>> list() override;
  Result<std::uint32_t> sum_of_fact(std::uint64_t seq) override;
  // Makes the folder if it is missing. It fails if the disk would have less than
  // limits::kSpareDiskBytes left.
  std::optional<Error> write(std::uint64_t seq, std::string_view bytes) override;
  std::optional<Error> keep_only(std::span<const StoredCheckpoint> kept) override;
  // As StoreReader::read_past_checkpoint(). `version`: the newest fact version that this program
  // knows.
  std::optional<Error> read(std::uint64_t seq, std::uint32_t version, FactSink& sink);

 private:
  std::string path_of(std::uint64_t seq) const { return folder_ + "/" + std::to_string(seq); }
  // Reads the head of a file. nullopt: the file is not one of this history.
  Result<std::optional<StoredCheckpoint>> look_at(std::uint64_t seq);

  Connection& db_;
  const std::string folder_;
  const std::uint32_t seed_;
};

}  // namespace subak
