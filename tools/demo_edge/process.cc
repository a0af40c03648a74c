#include "tools/demo_edge/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

namespace subak::demo {
namespace {

constexpr int kReadyTimeoutMs = 60'000;
constexpr int kStopTimeoutMs = 30'000;

// Between fork and exec, only calls are allowed that are safe after a fork of a process with
// threads.
[[noreturn]] void become(char* const* argv, int output, int log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);  // the parent may block signals to wait for them
  if (getppid() != parent) _exit(127);       // the parent died in between
  dup2(output, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv(argv[0], argv);
  _exit(127);
}

bool take(const std::string& word, const std::string& name, std::string* value) {
  if (!word.starts_with(name + "=")) return false;
  *value = word.substr(name.size() + 1);
  return true;
}

bool parse_ready(const std::string& line, Ports* ports) {
  std::istringstream words(line);
  std::string word;
  int found = 0;
  while (words >> word) {
    found += take(word, "webhook", &ports->webhook) || take(word, "grpc", &ports->grpc) ||
             take(word, "http", &ports->http);
  }
  return line.starts_with("subakd ready ") && found == 3;
}

}  // namespace

std::string Process::start(const std::vector<std::string>& command, const std::string& log_file,
                           Ports* ports) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const int log = open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return "cannot write " + log_file;
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(argv.data(), ends[1], log, parent);
  close(ends[1]);
  close(log);
  output_ = ends[0];
  if (pid_ < 0) return "no process";
  const std::string error = read_ready(ports);
  if (!error.empty()) {
    kill_hard();
    return error + "; see " + log_file;
  }
  return "";
}

std::string Process::read_ready(Ports* ports) {
  std::string line;
  for (;;) {
    pollfd wait{output_, POLLIN, 0};
    if (poll(&wait, 1, kReadyTimeoutMs) <= 0) return "the service did not say that it is ready";
    char c = 0;
    if (read(output_, &c, 1) != 1) return "the service ended before it was ready";
    if (c != '\n') {
      line += c;
      continue;
    }
    return parse_ready(line, ports) ? "" : "the service said \"" + line + "\"";
  }
}

void Process::close_output() {
  if (output_ >= 0) close(output_);
  output_ = -1;
}

void Process::kill_hard() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
  close_output();
}

int Process::terminate() {
  if (pid_ <= 0) return -1;
  kill(pid_, SIGTERM);
  for (int waited = 0; waited < kStopTimeoutMs; waited += 20) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      close_output();
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill_hard();
  return -1;
}

}  // namespace subak::demo
