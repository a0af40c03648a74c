// subak: the command line of the service, and the offline commands.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cli/run.h"

int main(int argc, char** argv) {
  // Suppresses the library's log lines between those of subak.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  const char* const term = std::getenv("TERM");
  const bool plain =
      std::getenv("NO_COLOR") != nullptr || (term != nullptr && std::string(term) == "dumb");
  const subak::cli::Screen screen{std::cout, std::cerr, isatty(STDOUT_FILENO) == 1 && !plain,
                                  isatty(STDERR_FILENO) == 1 && !plain};
  std::ios::sync_with_stdio(false);
  return subak::cli::run_cli(std::vector<std::string>(argv + 1, argv + argc), screen,
                             subak::cli::program_of(argc > 0 ? argv[0] : ""));
}
