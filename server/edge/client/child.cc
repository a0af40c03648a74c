#include "server/edge/client/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <map>
#include <string_view>
#include <system_error>

#include "core/limits.h"
#include "core/must.h"

namespace subak {
namespace {

std::string words_of(int error) { return std::generic_category().message(error); }

// Returns the environment as "A=b", each name once.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& more) {
  std::map<std::string, std::string, std::less<>> all;
  for (char** own = environ; *own != nullptr; ++own) {
    const std::string_view pair(*own);
    const std::size_t end = std::min(pair.find('='), pair.size());
    all.emplace(pair.substr(0, end), pair.substr(std::min(end + 1, pair.size())));
  }
  for (const auto& [name, value] : more) all[name] = value;
  std::vector<std::string> pairs;
  pairs.reserve(all.size());
  for (const auto& [name, value] : all) pairs.push_back(name + "=" + value);
  return pairs;
}

// Returns the texts in the form of C. It lives as long as `texts` does.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// The steps of the new process before it becomes the program.
class Spawning {
 public:
  explicit Spawning(int out) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
  }
  ~Spawning() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
};

}  // namespace

Result<std::unique_ptr<Child>> Child::start(const ChildProgram& program) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorCode::kPrecondition, "", program.command, "want a pipe: " + words_of(errno)};
  }
  const auto [in, out] = pipe_ends;
  fcntl(in, F_SETFL, O_NONBLOCK);
  std::vector<std::string> words{program.command};
  words.insert(words.end(), program.args.begin(), program.args.end());
  std::vector<std::string> env = environment_with(program.env);
  const Spawning how(out);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, program.command.c_str(), &how.files, &how.attributes,
                                 pointers(words).data(), pointers(env).data());
  close(out);
  if (error == 0) return std::unique_ptr<Child>(new Child(pid, in));
  close(in);
  return Error{error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kPrecondition, "",
               program.command, "want a program that can be run: " + words_of(error)};
}

Child::~Child() {
  close(out_);
  if (ended_) return;
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Child::poll() {
  if (ended_) return true;
  int status = 0;
  const pid_t done = waitpid(pid_, &status, WNOHANG);
  must(done >= 0 || errno == EINTR, "our children are left to us");
  ended_ = done == pid_;
  if (ended_) exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  read_all();  // after its end, so that no output follows
  return ended_;
}

void Child::read_all() {
  std::array<char, 4096> bytes;
  while (output_.size() <= limits::kMaxCredentialBytes) {
    const ssize_t count = read(out_, bytes.data(), bytes.size());
    if (count <= 0) return;
    output_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace subak
