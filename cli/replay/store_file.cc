#include "cli/replay/store_file.h"

#include <utility>

#include "cli/text/failure.h"
#include "model/fact.h"
#include "server/store/file/refusals.h"
#include "server/store/proof/checks.h"
#include "server/store/proof/sqlite_reader.h"

namespace subak::cli {

std::unique_ptr<StoreReader> open_store_file(const std::string& path, const std::string& option) {
  if (file_size(path) <= 0) {
    throw Failure{kExitNotFound, "--state: " + path + ": there is no such file, or it is empty",
                  "name a backup, or the state file of subakd"};
  }
  if (auto error = check_header(path)) throw store_failure(*error, option);
  auto reader = SqliteReader::open(path, kFactVersion);
  if (!reader.ok()) throw store_failure(reader.error(), option);
  return std::move(*reader);
}

}  // namespace subak::cli
