// subak __complete: prints the names of accounts, jobs, clusters, nodes or products for a
// completion script.
#include <map>

#include "cli/commands.h"
#include "cli/names.h"
#include "cli/text/failure.h"

namespace subak::cli {
namespace {

constexpr std::int64_t kPatienceMs = 1000;  // the user waits for the completion

const std::map<std::string, NameKind>& kinds() {
  static const std::map<std::string, NameKind> kAll{{"accounts", NameKind::kAccounts},
                                                    {"jobs", NameKind::kJobs},
                                                    {"clusters", NameKind::kClusters},
                                                    {"nodes", NameKind::kNodes},
                                                    {"products", NameKind::kProducts}};
  return kAll;
}

}  // namespace

void add_complete(Command root) {
  auto kind = std::make_shared<std::string>();
  Command c = root.add(kCompleteCommand, "names for completion scripts");
  c.hide();
  c.argument("KIND", *kind, "accounts, jobs, clusters, nodes or products");
  c.run([kind](Session& s) {
    const auto found = kinds().find(*kind);
    if (found == kinds().end()) return kExitUsage;
    try {
      s.client().be_patient_for(kPatienceMs);
      for (const std::string& name : known_names(s.client(), found->second)) {
        s.out() << printable(name) << '\n';
      }
    } catch (const Failure&) {
      // Without a service or a token there are no names to print. A message would disturb the
      // command line that the user types.
    }
    return kExitDone;
  });
}

}  // namespace subak::cli
