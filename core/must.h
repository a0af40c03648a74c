// Checks of the program's invariants. A broken invariant stops the process before a wrong state
// becomes durable.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace subak {

// Checks an invariant that holds for every input. If `ok` is false, the program has a bug: in every
// build, the call prints `what` and aborts the process. Each call must be cheap, because code runs
// it for each fact that it stores. Expensive checks belong into functions such as
// check_invariants(), which only tests and the simulator call.
// Threads: any.
inline void must(bool ok, const char* what) {
  if (ok) [[likely]]
    return;
  std::fputs("subak: broken promise: ", stderr);  // aborts after this output
  std::fputs(what, stderr);
  std::fputs("\n", stderr);
  std::abort();
}

}  // namespace subak
