// Power cuts, failing writes and full disks under the real store and runtime. A random world works
// on a disk that forgets what was not synced; then, for each point of that history, the machine
// starts again with what a cut there leaves: everything that was acknowledged must be there, once.
//
// SUBAK_CUT_POINTS: how many points, spread over a history of at least that many (default 250).
// SUBAK_CUT_SEED: another world, and other luck.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "server/log/log.h"
#include "tests/server/random_life.h"
#include "tests/server/store/support/audit_store.h"
#include "tests/server/store/support/forgetting_disk.h"

namespace subak::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLeastPoints = 3000;
constexpr int kTurnsPerLife = 80;  // then it stops and starts again, as asked
constexpr int kTurnsAfterCut = 4;
constexpr std::uint64_t kCutAgain = 8;  // one of so many is followed by a second cut

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
}
std::uint64_t seed() { return setting("SUBAK_CUT_SEED", 1); }

// The folder in which the store believes to be. What it reads there by itself, beside SQLite, is
// the header of its file and its log; what it notes there is no part of the disk.
class Folder {
 public:
  Folder() : dir_(fs::temp_directory_path() / ("subak_cut_" + std::to_string(::getpid()))) {
    fs::create_directories(dir_);
  }
  ~Folder() { fs::remove_all(dir_); }
  std::string path() const { return (dir_ / "subak.db").string(); }
  void show(const Files& files) const {
    fs::remove(path() + ".lock");
    for (const char* suffix : {"", "-wal", "-journal"}) {
      const std::string name = path() + suffix;
      fs::remove(name);
      const auto file = files.find(name);
      if (file == files.end()) continue;
      std::ofstream(name, std::ios::binary) << file->second;
    }
  }

 private:
  fs::path dir_;
};

// A disk, and what happens on it until somebody looks.
class Story {
 public:
  // What was known outside when the disk had seen `point` changes.
  struct Moment {
    std::uint64_t point;
    RandomLife world;
    TimeMs time_ms;
  };

  Story(const Folder& folder, Files files, const Moment& from)
      : before(std::move(files)),
        folder_(folder),
        disk_(std::make_unique<ForgettingDisk>(before)),
        world_(from.world) {
    clock_.set_wall(from.time_ms);
    moments.push_back({0, world_, from.time_ms});
  }

  ForgettingDisk& disk() { return *disk_; }
  // The error of a refused start.
  std::optional<Error> start() {
    folder_.show(disk_->files());
    Life::Options options;
    options.now = [disk = disk_.get()] { return disk->points(); };
    options.on_death = [disk = disk_.get()] { disk->stop(); };
    life_ = std::make_unique<Life>(folder_.path(), clock_, options);
    return life_->start();
  }
  bool turn() {
    moments.push_back({disk_->points(), world_, clock_.wall_ms()});
    return world_.turn(*life_, clock_, said);
  }
  // What a cluster's edge does after a restart.
  bool reconcile() {
    Engine engine;
    if (!recover_engine(**life_->store().open_reader(), engine).ok()) return false;
    if (!engine.find_cluster("watched")) return true;
    life_->say(RandomLife::list_again(engine));
    return !life_->death();
  }
  void shut() {
    for (const Life::Release& release : life_->releases()) releases.push_back(release);
    for (const Fact& fact : life_->facts()) released[fact.seq] = fact_to_text(fact);
    life_->stop();
  }
  // Looks at what is there, once all is quiet, and ends.
  void end() {
    AuditedStore audit;
    audit.look(folder_.path(), life_->store());
    EXPECT_EQ(view_text(*life_->view()), view_text(*audit.engine.view()));
    for (const Fact& fact : audit.facts) facts.push_back(fact_to_text(fact));
    jobs = std::move(audit.jobs);
    shut();
    leave();
  }
  // The disk is nobody's any more.
  void leave() {
    life_ = nullptr;
    history = disk_->history();
    after = disk_->files();
    disk_ = nullptr;
  }
  std::uint64_t recovered() const { return life_->recovered().seq; }
  std::optional<Error> death() const { return life_->death(); }
  std::uint64_t released_by(std::uint64_t point) const {
    std::uint64_t seq = 0;
    for (const Life::Release& release : releases) {
      if (release.at <= point) seq = std::max(seq, release.seq);
    }
    return seq;
  }
  const Moment& moment_before(std::uint64_t point) const {
    auto it = std::find_if(moments.rbegin(), moments.rend(),
                           [&](const Moment& m) { return m.point <= point; });
    return *it;
  }

  const Files before;
  std::vector<Said> said;
  std::vector<Moment> moments;
  std::vector<Life::Release> releases;
  std::map<std::uint64_t, std::string> released;  // facts, by number
  std::vector<std::string> facts;                 // all that were there at the end
  std::map<std::string, std::vector<JobId>> jobs;
  std::vector<DiskChange> history;
  Files after;

 private:
  const Folder& folder_;
  FakeClock clock_;
  std::unique_ptr<ForgettingDisk> disk_;
  RandomLife world_;
  std::unique_ptr<Life> life_;
};

// Everything that `past` had acknowledged by `point` is in what `now` found and made of it.
void expect_acknowledged(const Story& past, std::uint64_t point, const Story& now,
                         std::uint64_t recovered) {
  ASSERT_GE(recovered, past.released_by(point)) << "an acknowledged fact is lost";
  ASSERT_GE(now.facts.size(), recovered);
  for (const auto& [seq, fact] : past.released) {
    if (seq > recovered) break;  // came after the cut: may be there or not
    ASSERT_EQ(now.facts[seq - 1], fact);
  }
  for (const Said& said : past.said) {
    const bool job = std::holds_alternative<in::SubmitJob>(said.input.body);
    if (!job || !said.reply || said.reply->error || said.answered > point) continue;
    const auto made = now.jobs.find(said.input.request_id);
    ASSERT_NE(made, now.jobs.end()) << "job lost: " << said.input.request_id;
    EXPECT_EQ(made->second.front(), said.reply->job);
  }
}

class PowerCutTest : public testing::Test {
 protected:
  PowerCutTest() { log::set_level(LogLevel::kError); }
  Story::Moment beginning() const { return {0, RandomLife(seed()), 1'767'300'000'000}; }

  // A history of at least `points` changes, with stops and starts.
  void work(Story& story, std::uint64_t points) const {
    ASSERT_FALSE(story.start());
    for (int turn = 1; story.disk().points() < points; ++turn) {
      ASSERT_TRUE(story.turn());
      if (turn % kTurnsPerLife != 0) continue;
      story.shut();
      ASSERT_FALSE(story.start());
      const bool edge_too = turn % (2 * kTurnsPerLife) == 0;
      ASSERT_TRUE(!edge_too || story.reconcile());
    }
    story.end();
  }

  // Starts from what a cut left, goes on, and perhaps is cut again.
  void start_after_cut(const Story& past, std::uint64_t point, Files files, std::uint64_t luck,
                       bool again) const {
    Story now(folder_, std::move(files), past.moment_before(point));
    const auto refused = now.start();
    ASSERT_FALSE(refused) << refused->message();
    const std::uint64_t recovered = now.recovered();
    ASSERT_TRUE(now.reconcile());
    for (int i = 0; i < kTurnsAfterCut; ++i) ASSERT_TRUE(now.turn());
    now.end();
    expect_acknowledged(past, point, now, recovered);
    if (!again || testing::Test::HasFailure()) return;
    const std::uint64_t second = luck % now.history.size();
    SCOPED_TRACE("cut again at point " + std::to_string(second));
    PowerCut cut(now.before, now.history);
    start_after_cut(now, second, cut.at(second, luck), luck, false);
  }

  Folder folder_;
};

TEST_F(PowerCutTest, NothingAcknowledgedIsLostAtAnyPoint) {
  const std::uint64_t cuts = setting("SUBAK_CUT_POINTS", 250);
  Story story(folder_, {}, beginning());
  work(story, std::max(kLeastPoints, cuts));
  const std::uint64_t points = story.history.size();
  PowerCut cut(story.before, story.history);
  sim::Rng luck(seed());
  for (std::uint64_t i = 0; i < cuts && !HasFailure(); ++i) {
    const std::uint64_t point = i < cuts / 4 ? i : i * points / cuts;  // a start is full of care
    const std::uint64_t dice = luck.next();
    SCOPED_TRACE("seed " + std::to_string(seed()) + ", cut at point " + std::to_string(point) +
                 " of " + std::to_string(points));
    start_after_cut(story, point, cut.at(point, dice), dice, i % kCutAgain == 0);
  }
  std::cout << "seed " << seed() << ": " << cuts << " cuts in " << points << " points, "
            << story.facts.size() << " facts, " << story.said.size() << " inputs\n";
}

// The check of the check: on the same disk without a sync, something acknowledged is lost.
TEST_F(PowerCutTest, WithoutSyncAcknowledgedFactsAreLost) {
  Story story(folder_, {}, beginning());
  story.disk().without_sync();
  work(story, kLeastPoints / 4);
  PowerCut cut(story.before, story.history);
  std::uint64_t lost = 0;
  const std::uint64_t points = story.history.size();
  for (std::uint64_t point = 0; point < points; point += 10) {
    const Files files = cut.at(point, seed() + point);
    folder_.show(files);
    const ForgettingDisk disk(files);
    const auto store = open_sqlite_store({folder_.path()});
    Engine engine;
    const bool there = store.ok() && recover_engine(**(*store)->open_reader(), engine).ok() &&
                       engine.seq() >= story.released_by(point);
    lost += there ? 0 : 1;
  }
  std::cout << "synchronous=OFF: " << lost << " of " << points / 10 << " cuts lose something\n";
  EXPECT_GT(lost, 0u);
}

struct Failure {
  const char* name;
  ForgettingDisk::Fault fault;
  bool lasting;
};
class FailingDiskTest : public PowerCutTest, public testing::WithParamInterface<Failure> {
 protected:
  // Until the disk fails us, or `points` are done. The error, if there was one.
  static std::optional<Error> work_until_failure(Story& story, std::uint64_t points) {
    if (auto refused = story.start()) return refused;
    for (int turn = 1; story.disk().points() < points; ++turn) {
      if (!story.turn()) return story.death();
      if (turn % kTurnsPerLife != 0) continue;
      story.shut();
      if (auto refused = story.start()) return refused;
    }
    return std::nullopt;
  }
};

// The service ends with an error that says what failed; after that, or after a cut at that moment,
// it starts again with all that was acknowledged.
TEST_P(FailingDiskTest, EndsWithAnErrorAndLosesNothing) {
  const std::uint64_t tries = setting("SUBAK_CUT_POINTS", 250) / 5;
  constexpr std::uint64_t kPoints = 900;
  std::uint64_t ended = 0;
  sim::Rng luck(seed());
  for (std::uint64_t i = 0; i < tries && !HasFailure(); ++i) {
    const std::uint64_t point = i * kPoints / tries;
    SCOPED_TRACE("seed " + std::to_string(seed()) + ", failure at point " + std::to_string(point));
    Story story(folder_, {}, beginning());
    story.disk().fail_at(point, GetParam().fault, GetParam().lasting);
    const std::optional<Error> error = work_until_failure(story, kPoints);
    if (error) {
      ++ended;
      EXPECT_NE(error->message().find(folder_.path()), std::string::npos) << error->message();
      EXPECT_EQ(error->message().find("restore a backup"), std::string::npos) << error->message();
    }
    story.disk().stop();
    story.shut();
    story.leave();
    const std::uint64_t all = story.history.size();
    start_after_cut(story, all, story.after, luck.next(), false);
    PowerCut cut(story.before, story.history);
    const std::uint64_t dice = luck.next();
    start_after_cut(story, all, cut.at(all, dice), dice, false);
  }
  std::cout << ended << " of " << tries << " ended the service\n";
  EXPECT_GT(ended, tries / 4);
}

INSTANTIATE_TEST_SUITE_P(
    Disk, FailingDiskTest,
    testing::Values(Failure{"OneError", ForgettingDisk::Fault::kIoError, false},
                    Failure{"OnlyErrors", ForgettingDisk::Fault::kIoError, true},
                    Failure{"FullOnce", ForgettingDisk::Fault::kFull, false},
                    Failure{"Full", ForgettingDisk::Fault::kFull, true}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace subak::test
