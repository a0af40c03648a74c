// Names threads for top, ps and perf, and lowers the priority of background threads.
#pragma once

namespace subak {

// Gives the calling thread a name. The name may have at most 15 characters, because
// pthread_setname_np(3) ignores a longer name.
void name_thread(const char* name);
// Like name_thread(), and gives the calling thread a low priority too. Use it for work for which no
// caller waits. It calls setpriority(2) with nice 10, which gives about a tenth of a normal
// thread's share of the CPU. A thread without special rights cannot raise its priority again.
void name_background_thread(const char* name);

}  // namespace subak
