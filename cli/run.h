// The program without main(). Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace subak::cli {

// Runs one command line, given without the program's name, and returns the exit code. For an error
// it writes two lines to screen.err: the fault and the remedy.
int run_cli(const std::vector<std::string>& arguments, const Screen& screen);

}  // namespace subak::cli
