// Threads by name in top, ps and perf.
#pragma once

namespace subak {

// Names the calling thread; at most 15 characters.
void name_thread(const char* name);

}  // namespace subak
