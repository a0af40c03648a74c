// The program `subak` without main(), so that tests can run command lines. Threads: one at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/session.h"

namespace subak::cli {

// The name under which kubectl finds and starts the program as its plugin. Under this name, the
// program is `kubectl subak`, whose lists are about the namespace of the kubeconfig's context.
inline constexpr std::string_view kPluginName = "kubectl-subak";
// Returns how the user called the program whose path is `path` (argv[0]).
Program program_of(std::string_view path);

// Runs one command line, given without the program's name, and returns the exit code. For an error
// it writes two lines to screen.err: the fault and the remedy.
int run_cli(const std::vector<std::string>& arguments, const Screen& screen,
            Program program = Program::kSubak);

}  // namespace subak::cli
