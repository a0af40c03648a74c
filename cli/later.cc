// Commands whose names are taken and that this version does not have.
#include "cli/commands.h"
#include "cli/failure.h"

namespace subak::cli {

void add_later(Command root) {
  const std::pair<const char*, const char*> commands[] = {
      {"budget", "budgets"},
      {"whatif", "what a change would do"},
      {"quote", "what could start now, at what cost"},
      {"lease", "GPUs taken for a time"},
      {"migrate", "moving a namespace over"},
  };
  for (const auto& [name, help] : commands) {
    Command c = root.add(name, help);
    c.list_under("Not in this version");
    c.any_arguments();
    c.run([name = std::string(name)](Session&) -> int {
      throw Failure{kExitRefused, name + ": not in this version",
                    "subak --help lists what there is"};
    });
  }
}

}  // namespace subak::cli
