// The whole program below main(). Threads: none.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace subak::cli {

// Runs one command line (without the program's name); returns the exit code. Errors are two lines
// on screen.err: the fault and the remedy.
int run_cli(const std::vector<std::string>& arguments, const Screen& screen);

}  // namespace subak::cli
