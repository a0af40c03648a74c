// Invariants of the program. A broken one stops the process before a wrong state becomes durable.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace subak {

// Checks an invariant that holds for every input (`must` means "invariant"). A failure is a bug in
// this program: it prints `what` and stops the process, in every build, before a wrong state
// becomes durable. The call is cheap, so code may make it for each fact that it stores. Put
// expensive tests into check().
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
