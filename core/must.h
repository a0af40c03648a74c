// Checks of the program's invariants. A broken invariant stops the process before a wrong state
// becomes durable.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace subak {

// Checks an invariant that holds for every input. If `ok` is false, the program has a bug: in every
// build, the call prints `what` and aborts the process. The check is cheap, so code may run it for
// each fact that it stores. Put expensive checks into check() functions.
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
