// subakd: reads its configuration, starts the service, waits for a signal. Exit codes:
// - 0: stopped as requested.
// - 1: the start was refused, or the store is damaged.
// - 3: a commit failed, the store's file was removed, the database went away during the start, a
//   listener accepts no connection, or a stop took too long.
// - 4: it led, and another process leads now.

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

#include "core/limits.h"
#include "server/config/config.h"
#include "server/log/log.h"
#include "server/service/replica.h"
#include "server/service/service.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/sqlite/sqlite_store.h"

namespace {

constexpr int kRefused = 1;
constexpr int kFailed = 3;
constexpr int kOtherLeads = 4;

// Every thread inherits the mask, so signals arrive only in wait_for_end().
sigset_t block_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at the system's limit becomes a failed write
  return set;
}

template <class Serving>
int wait_for_end(const sigset_t& set, Serving& service) {
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (signal != SIGHUP) return signal;
    if (const auto error = service.reload()) {
      subak::log::error("files not read again", {{"error", error->message()}});
    } else {
      subak::log::info("tokens and receivers read again");
    }
  }
}

// Another start would find the same damage again.
int code_of_end(const subak::Error& error) {
  if (subak::says_damage(error)) return kRefused;
  return subak::says_other_leads(error) ? kOtherLeads : kFailed;
}

// After a failed commit no further output is allowed: no destructors, no answers.
void end_now(const subak::Error& error) { std::_Exit(code_of_end(error)); }

void end_slow_stop(int) { _exit(kFailed); }

int refuse(const std::string& why) {
  std::cerr << "subakd: " << why << '\n';
  return kRefused;
}

// A fault of the configuration or of the store is permanent. A database that goes away and a lost
// lead are not.
int refuse_start(const subak::Error& error) {
  const int refused = refuse(error.message());
  if (subak::says_away(error)) return kFailed;
  return subak::says_other_leads(error) ? kOtherLeads : refused;
}

// A Service or a Replica.
template <class Serving>
int serve(const subak::Config& config) {
  umask(0077);  // only this user may read the store and the keys
  const sigset_t signals = block_signals();
  Serving service(config, end_now);
  if (const auto error = service.start()) {
    if (subak::stop_asked()) return EXIT_SUCCESS;
    return refuse_start(*error);
  }
  std::cout << service.ports_text() << std::endl;
  const int signal = wait_for_end(signals, service);
  subak::log::info("stopping", {{"signal", signal}});
  std::signal(SIGALRM, end_slow_stop);
  alarm(static_cast<unsigned>(subak::limits::kStopMs / subak::kSecondMs));
  service.stop();
  subak::log::info("stopped");
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  auto asked = subak::read_start(argc, argv, std::cout);
  if (const auto* error = std::get_if<subak::StartError>(&asked)) return refuse(error->text);
  const auto& start = std::get<subak::StartRequest>(asked);
  if (start.done) return EXIT_SUCCESS;
  if (start.check_only) {
    std::cout << "subakd: the configuration is good\n";
    return EXIT_SUCCESS;
  }
  subak::log::set_level(start.config.log_level);
  return start.config.follow.empty() ? serve<subak::Service>(start.config)
                                     : serve<subak::Replica>(start.config);
}
