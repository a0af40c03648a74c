// Thread names for top, ps and perf.
#pragma once

namespace subak {

// Gives the calling thread a name of at most 15 characters.
// pthread_setname_np(3) ignores a longer name.
void name_thread(const char* name);
// Also gives the thread a low priority, for work for which no caller waits.
// It uses setpriority(2) with nice 10, about a tenth of a normal thread's share. Without special
// rights, this cannot be undone.
void name_background_thread(const char* name);

}  // namespace subak
