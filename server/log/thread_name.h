// Threads by name in top, ps and perf.
#pragma once

namespace subak {

// Names the calling thread; at most 15 characters.
void name_thread(const char* name);
// The same, and the thread yields the processor to others from now on: for work with no caller that waits.
void name_background_thread(const char* name);

}  // namespace subak
