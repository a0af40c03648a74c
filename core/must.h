// Invariants of the program. A broken invariant stops the process before a wrong state becomes
// durable.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace subak {

// Checks an invariant that holds for every input (`must` means "invariant"). A failure is a bug in
// this program. In every build, the call then prints `what` and stops the process before a wrong
// state becomes durable. The call is cheap, so code may make it for each fact that it stores. Put
// expensive tests into check() functions.
// Threads: any.
inline void must(bool ok, const char* what) {
  if (ok) [[likely]]
    return;
  std::fputs("subak: broken promise: ", stderr);  // the last output of a process
  std::fputs(what, stderr);
  std::fputs("\n", stderr);
  std::abort();
}

}  // namespace subak
