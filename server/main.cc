// subakd: reads what it is told, starts the service, waits for a signal.
// Exit codes: 0 stopped as asked, 1 the start was refused or the store is damaged, 3 a commit
// failed, the store's file was taken away, the database went away while it started, a listener lets nobody in, or a stop
// took too long, 4 it led and another process does by now.

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
#include "server/store/sqlite_store.h"

namespace {

constexpr int kRefused = 1;
constexpr int kFailed = 3;
constexpr int kOtherLeads = 4;

// Every thread inherits the mask, so signals come to wait_for_end() only.
sigset_t block_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at the system's limit is a write that fails
  return set;
}

template <class Serving>
int wait_for_end(const sigset_t& set, Serving& service) {
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (signal != SIGHUP) return signal;
    if (const auto error = service.reload()) {
      subak::log::error("tokens not read again", {{"error", error->message()}});
    } else {
      subak::log::info("tokens read again");
    }
  }
}

// Of damage another start would only find the same.
int code_of_end(const subak::Error& error) {
  if (subak::says_damage(error)) return kRefused;
  return subak::says_other_leads(error) ? kOtherLeads : kFailed;
}

// After a failed commit nothing may be shown any more: no destructors, no answers.
void end_now(const subak::Error& error) { std::_Exit(code_of_end(error)); }

void end_slow_stop(int) { _exit(kFailed); }

int refuse(const std::string& why) {
  std::cerr << "subakd: " << why << '\n';
  return kRefused;
}

// What is wrong with the configuration or the store stays so; a database that goes away and a lead that is lost do not.
int refuse_start(const subak::Error& error) {
  const int refused = refuse(error.message());
  if (subak::says_away(error)) return kFailed;
  return subak::says_other_leads(error) ? kOtherLeads : refused;
}

// A Service or a Replica.
template <class Serving>
int serve(const subak::Config& config) {
  umask(0077);  // the store and the keys are nobody else's
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
