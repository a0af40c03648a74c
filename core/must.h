// Promises of the program to itself.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace subak {

// What must hold whatever comes from outside. Its breach is a mistake in this program: it says what
// broke and stops the process, in every build, before a wrong state becomes durable. Cheap enough
// for each fact; what is dear belongs into check(). Threads: any.
inline void must(bool ok, const char* what) {
  if (ok) [[likely]]
    return;
  std::fputs("subak: broken promise: ", stderr);  // the last words of a process
  std::fputs(what, stderr);
  std::fputs("\n", stderr);
  std::abort();
}

}  // namespace subak
