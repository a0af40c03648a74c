// subak admin backup, restore, finalize, accept-clock, accept-loss.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "cli/text/failure.h"
#include "cli/text/words.h"
#include "server/log/log.h"
#include "server/runtime/clock/clock.h"
#include "server/store/file/copy.h"
#include "server/store/move/restore.h"
#include "server/store/postgres/database/address.h"
#include "server/store/postgres/restore_postgres.h"
#include "server/store/proof/verify.h"
#include "subak/v1/admin_service.pb.h"

namespace subak::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kDefaultState[] = "var/subak.db";  // subakd has the same

Failure failure_of(const Error& error) { return store_failure(error, "until"); }

[[noreturn]] void fail_errno(const std::string& path, const char* todo) {
  const int code = errno == ENOENT ? kExitNotFound : kExitRefused;
  throw Failure{code, path + ": " + std::strerror(errno), todo};
}

// Refuses csv before any action. A later refusal would look as if the command had done nothing.
void refuse_csv(Session& s) {
  if (s.is_csv()) s.show_text(v1::StoreReport(), [] {});
}

std::string size_text(std::int64_t bytes) {
  if (bytes < 1 << 20) return std::to_string((bytes + 1023) / 1024) + " KiB";
  return fixed_text(static_cast<double>(bytes) / (1 << 20), 1) + " MiB";
}

// Writes a backup to FILE.part, and renames it to FILE once all data are there and proved. A lock
// on FILE.part prevents two backups to one FILE from mixing. A new backup overwrites the FILE.part
// that an interrupted one left.
class PartFile {
 public:
  explicit PartFile(std::string file) : file_(std::move(file)), path_(file_ + ".part") {
    refuse_existing();
    fd_ = ::open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd_ < 0) fail_errno(path_, "name a file in a folder that exists and that you may write");
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      ::close(fd_);
      throw Failure{kExitRefused, path_ + ": another backup writes it", "name another file"};
    }
    refuse_existing();  // the other backup may just have ended
    if (::ftruncate(fd_, 0) != 0)
      fail_errno(path_, "the file cannot be emptied; name a file on another disk");
  }
  ~PartFile() {
    if (!kept_) ::unlink(path_.c_str());
    ::close(fd_);
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno != EINTR) fail_errno(path_, "make room on that disk");
      if (n > 0) done += static_cast<std::size_t>(n);
    }
  }
  void keep() {
    refuse_existing();
    if (auto error = sync_file(path_)) throw failure_of(*error);
    if (::rename(path_.c_str(), file_.c_str()) != 0) fail_errno(file_, "name another file");
    kept_ = true;
    if (auto error = sync_file(file_)) throw failure_of(*error);
  }

 private:
  void refuse_existing() const {
    if (::access(file_.c_str(), F_OK) != 0) return;
    throw usage_failure(file_ + ": exists already", "name a new file; a backup overwrites nothing");
  }

  std::string file_, path_;
  int fd_ = -1;
  bool kept_ = false;
};

StateMark receive(Session& s, PartFile& part) {
  v1::BackupHeader header;
  v1::BackupResponse answer;
  std::int64_t bytes = 0;
  s.client().stream("AdminService/Backup", v1::BackupRequest(), answer, [&] {
    if (answer.has_header()) header = answer.header();
    bytes += static_cast<std::int64_t>(answer.data().size());
    part.write(answer.data());
    if (s.screen().progress) {
      s.err() << "\rreceived " << size_text(bytes) << " of " << size_text(header.bytes())
              << std::flush;
    }
    return true;
  });
  if (s.screen().progress) s.err() << '\n';
  if (header.digest_size() != 2 || bytes != header.bytes()) {
    throw Failure{kExitRefused, "the backup ended early: " + std::to_string(bytes) + " bytes",
                  "try again; no file was left"};
  }
  if (s.screen().progress) s.err() << "verifying\n";
  return {header.sequence(), {header.digest(0), header.digest(1)}};
}

void line(Session& s, const std::string& name, const std::string& value) {
  print_line(s, name, value, 12);
}

v1::StoreReport message_of(const std::string& file, const StoreReport& report) {
  v1::StoreReport out;
  out.set_file(file);
  out.set_bytes(report.bytes);
  out.set_sequence(report.state.seq);
  out.set_digest(digest_text(report.state.digest));
  out.set_fact_version(static_cast<std::int32_t>(report.fact_version));
  out.set_checkpoint_sequence(report.checkpoint_seq);
  out.set_ledger_rows(report.ledger_rows);
  return out;
}

void print_report(Session& s, const v1::StoreReport& report) {
  const std::string checkpoint = std::to_string(report.checkpoint_sequence());
  line(s, "file", report.file() + ", " + size_text(report.bytes()));
  line(s, "holds",
       std::to_string(report.sequence()) + " facts of version " +
           std::to_string(report.fact_version()) + ", " + std::to_string(report.ledger_rows()) +
           " ledger rows, " +
           (report.checkpoint_sequence() == 0 ? "no checkpoint" : "checkpoint at " + checkpoint));
  line(s, "digest", report.digest() + " after fact " + std::to_string(report.sequence()));
}

int backup(Session& s, const std::string& file) {
  refuse_csv(s);
  PartFile part(file);
  const StateMark live = receive(s, part);
  const Result<StoreReport> report = verify_store(part.path(), live);
  if (!report.ok()) throw failure_of(report.error());
  if (auto error = note_history(part.path(), *report)) throw failure_of(*error);
  part.keep();
  const v1::StoreReport message = message_of(file, *report);
  s.show_text(message, [&] {
    print_report(s, message);
    line(s, "verified", "pages, replay of all facts, start from the checkpoint, ledger rows");
    line(s, "service", "had the same digest after fact " + std::to_string(live.seq));
  });
  return kExitDone;
}

struct RestoreCommand {
  std::string file;
  std::string state = kDefaultState;
  bool force = false;
  std::string until;
};

// Reads --until as the number of a fact. nullopt: it has other characters than digits.
std::optional<std::uint64_t> seq_of(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  std::uint64_t seq = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), seq).ec == std::errc()) return seq;
  throw usage_failure("--until: " + text + " is too large", "name a fact by its number");
}

// Reads --until as the number of a fact or as a time.
std::optional<Until> until_of(const RestoreCommand& o) {
  if (o.until.empty()) return std::nullopt;
  if (const auto seq = seq_of(o.until)) return *seq;
  return UntilTime{to_ms(instant_of(o.until, "--until", now_ms()))};
}

void put_cut(const Restored& done, v1::StoreReport& out) {
  if (!done.cut) return;
  *out.mutable_sequence_time() = to_timestamp(done.cut->time_ms);
  out.set_facts_left_out(done.cut->left_out);
  if (done.cut->left_out > 0) *out.mutable_last_left_out() = to_timestamp(done.cut->last_ms);
}

void print_cut(Session& s, const Restored& done) {
  if (!done.cut) return;
  const Cut& cut = *done.cut;
  line(s, "until",
       "fact " + std::to_string(cut.state.seq) + " of " +
           exact_time_text(to_timestamp(cut.time_ms)));
  line(s, "left out",
       cut.left_out == 0 ? "nothing: it is the last fact"
                         : std::to_string(cut.left_out) + " later facts, up to " +
                               exact_time_text(to_timestamp(cut.last_ms)));
  if (cut.within_a_moment) {
    line(s, "note",
         "the next fact, which was left out, has the same time and may be of the same decision");
    line(s, "",
         "--until " + exact_time_text(to_timestamp(cut.time_ms)) +
             " includes all facts of that time");
  }
}

int restore_into_database(Session& s, const RestoreCommand& o) {
  if (o.force) {
    throw usage_failure("--force: the command cannot move a database aside", "name a new database");
  }
  if (s.screen().progress) s.err() << "verifying and copying\n";
  const SystemClock clock;
  const Result<Restored> done = restore_to_postgres(o.file, o.state, clock, until_of(o));
  if (!done.ok()) throw failure_of(done.error());
  v1::StoreReport message = message_of(o.file, done->report);
  put_cut(*done, message);
  s.show_text(message, [&] {
    print_report(s, message);
    print_cut(s, *done);
    line(s, "verified",
         "pages, replay of all facts, ledger rows; the database, read back, has the same digest");
    line(s, "next", "subakd --state " + o.state);
  });
  return kExitDone;
}

int restore(Session& s, const RestoreCommand& o) {
  refuse_csv(s);
  log::set_level(LogLevel::kWarn);  // the new store's log lines are not of interest here
  if (postgres::is_address(o.state)) return restore_into_database(s, o);
  RestoreOptions options{o.file, o.state, o.force, until_of(o)};
  if (options.state.ends_with('/') || fs::is_directory(options.state)) {
    options.state = (fs::path(options.state) / "subak.db").string();
  }
  if (s.screen().progress) s.err() << "copying and verifying\n";
  const Result<Restored> done = restore_store(options);
  if (!done.ok()) throw failure_of(done.error());
  v1::StoreReport message = message_of(options.state, done->report);
  message.set_replaced(done->replaced);
  put_cut(*done, message);
  s.show_text(message, [&] {
    print_report(s, message);
    print_cut(s, *done);
    line(s, "verified", "pages, replay of all facts, start from the checkpoint, ledger rows");
    if (!done->replaced.empty()) line(s, "replaced", done->replaced + " is what was there before");
    line(s, "next", "subakd --state " + options.state);
  });
  return kExitDone;
}

struct StepCommand {  // finalize, accept-clock
  EditOptions edit;
  bool dry_run = false;
};

std::string finalize_text(const v1::FinalizeResponse& answer, bool dry_run) {
  const std::string now = std::to_string(answer.fact_version());
  const std::string before = std::to_string(answer.previous_fact_version());
  if (now == before) return "the store is at fact version " + now + " already";
  return (dry_run ? "would go from fact version " : "went from fact version ") + before + " to " +
         now + ": programs that know only " + before + " refuse the store" +
         (dry_run ? " then" : " now");
}

template <class Request, class Answer>
Answer take_step(Session& s, const char* method, const StepCommand& o) {
  refuse_csv(s);
  Request request;
  request.set_reason(o.edit.reason);
  request.set_request_id(o.edit.request_id);
  request.set_validate_only(o.dry_run);
  return s.call<Answer>(method, request);
}

int finalize(Session& s, const StepCommand& o) {
  const auto answer =
      take_step<v1::FinalizeRequest, v1::FinalizeResponse>(s, "AdminService/Finalize", o);
  s.show_text(answer, [&] { s.out() << finalize_text(answer, o.dry_run) << '\n'; });
  return kExitDone;
}

std::string clock_text(const v1::AcceptClockResponse& answer, bool dry_run) {
  const std::int64_t ahead = to_ms(answer.time()) - to_ms(answer.previous_time());
  const std::string gap = age_text(ahead < 0 ? -ahead : ahead);
  const std::string times = "the wall clock shows " + time_text(answer.time()) +
                            ", the service had " + time_text(answer.previous_time()) + ": ";
  if (ahead < 0) {
    return times + "its time " + (dry_run ? "would stop" : "stops") + " for " + gap +
           ", and nothing is charged meanwhile";
  }
  return times + "its time " + (dry_run ? "would go" : "went") + " forward by " + gap +
         ", which is charged to the jobs that hold GPUs";
}

int accept_clock(Session& s, const StepCommand& o) {
  const auto answer =
      take_step<v1::AcceptClockRequest, v1::AcceptClockResponse>(s, "AdminService/AcceptClock", o);
  s.show_text(answer, [&] {
    s.out() << (answer.repeated_request()
                    ? "an earlier call with this request id accepted the clock; nothing changed now"
                    : clock_text(answer, o.dry_run))
            << '\n';
  });
  return kExitDone;
}

struct LossCommand {
  std::string until;
  EditOptions edit;
  bool dry_run = false;
};

std::string loss_text(const v1::AcceptLossResponse& answer, bool dry_run) {
  const std::string known = std::to_string(answer.known_sequence());
  return "the database ends with fact " + std::to_string(answer.until()) +
         "; this replica knew facts up to " + known + ", of " + time_text(answer.known_time()) +
         (dry_run ? ": the later facts would be lost"
                  : ": the later facts are lost, and this replica may lead");
}

int accept_loss(Session& s, const LossCommand& o) {
  refuse_csv(s);
  v1::AcceptLossRequest request;
  const auto until = seq_of(o.until);
  if (!until) {
    throw usage_failure("--until: was \"" + o.until + "\"",
                        "name the database's last fact by its number");
  }
  request.set_until(*until);
  request.set_reason(o.edit.reason);
  request.set_validate_only(o.dry_run);
  const auto answer = s.call<v1::AcceptLossResponse>("AdminService/AcceptLoss", request);
  s.show_text(answer, [&] { s.out() << loss_text(answer, o.dry_run) << '\n'; });
  return kExitDone;
}

void add_backup(Command admin) {
  auto file = std::make_shared<std::string>();
  Command c =
      admin.add("backup", "write a checked copy of the running service's store to a local file");
  c.argument("FILE", *file, "where to write it; must not exist");
  c.run([file](Session& s) { return backup(s, *file); });
}

void add_restore(Command admin) {
  auto o = std::make_shared<RestoreCommand>();
  Command c = admin.add("restore", "replace the store with a backup; stop subakd first");
  c.argument("FILE", o->file, "a backup, or the state file of a stopped subakd");
  c.option("--state", o->state, "where subakd has its state; default var/subak.db", "FILE|DIR|URI");
  c.flag("--force", o->force, "move an existing store aside");
  c.option("--until", o->until, "leave out all facts after this fact number or time", "SEQ|TIME");
  c.run([o](Session& s) { return restore(s, *o); });
}

void add_finalize(Command admin) {
  auto o = std::make_shared<StepCommand>();
  Command c = admin.add(
      "finalize", "end an upgrade: from then on, older versions of subakd cannot read the store");
  add_reason(c, o->edit);
  c.flag("--dry-run", o->dry_run, "check only");
  c.run([o](Session& s) { return finalize(s, *o); });
}

void add_accept_clock(Command admin) {
  auto o = std::make_shared<StepCommand>();
  Command c = admin.add("accept-clock", "accept a wall clock that the service does not trust");
  add_reason(c, o->edit);
  c.flag("--dry-run", o->dry_run, "check only; show the service's time and the wall clock's time");
  c.run([o](Session& s) { return accept_clock(s, *o); });
}

void add_accept_loss(Command admin) {
  auto o = std::make_shared<LossCommand>();
  Command c = admin.add("accept-loss",
                        "give up facts that a replica has but the database lacks; --server must "
                        "name only that replica");
  c.required_option("--until", o->until,
                    "the number of the database's last fact; later facts are lost", "SEQ");
  add_reason(c, o->edit);
  c.flag("--dry-run", o->dry_run, "check only; show which facts would be lost");
  c.run([o](Session& s) { return accept_loss(s, *o); });
}

}  // namespace

void add_admin(Command root) {
  Command admin =
      root.add("admin", "operate the service: backup, restore, upgrade, clock, data loss");
  add_backup(admin);
  add_restore(admin);
  add_finalize(admin);
  add_accept_clock(admin);
  add_accept_loss(admin);
}

}  // namespace subak::cli
