#include "server/log/thread_name.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace subak {
namespace {

constexpr int kBackgroundNice = 10;  // a tenth of the share of a normal thread

}  // namespace

void name_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

void name_background_thread(const char* name) {
  name_thread(name);
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kBackgroundNice);  // Linux: of this thread
}

}  // namespace subak
