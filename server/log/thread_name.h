// Thread names for top, ps and perf.
#pragma once

namespace subak {

// Names the calling thread; at most 15 characters.
// A longer name is ignored, by pthread_setname_np(3).
void name_thread(const char* name);
// Also gives the thread a low priority from now on: for work that no caller waits for.
// By setpriority(2), nice 10: about a tenth of a normal thread's share. It cannot be undone without
// rights.
void name_background_thread(const char* name);

}  // namespace subak
