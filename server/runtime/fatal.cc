#include "server/runtime/fatal.h"

#include <cstdlib>

#include "server/log/log.h"

namespace subak {

void end_process(const Error& error, const Fatal& fatal) {
  log::error("the store failed; the service ends and recovers at its next start",
             {{"error", error.message()}});
  if (fatal) return fatal(error);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace subak
