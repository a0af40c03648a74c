#include "server/log/thread_name.h"

#include <pthread.h>

namespace subak {

void name_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace subak
