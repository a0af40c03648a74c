// Thread names for top, ps and perf.
#pragma once

namespace subak {

// Names the calling thread; at most 15 characters.
void name_thread(const char* name);
// Also gives the thread a low priority from now on: for work that no caller waits for.
void name_background_thread(const char* name);

}  // namespace subak
