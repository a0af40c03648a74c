// Damage to a store's file and its log: each start is refused with its place, or what it shows is
// byte for byte what was acknowledged. A break inside the log's last transaction is an end, as
// after a power cut: all before it.
//
// SUBAK_DAMAGES: how many random ones (default 80). SUBAK_DAMAGE_SEED: other ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "server/log/log.h"
#include "server/runtime/runtime.h"
#include "server/store/proof/log_scan.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/oracle/random_world.h"
#include "tests/server/store/support/pack_facts.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kFrame = kPage + 24;
constexpr std::size_t kLogHeader = 32;

std::uint64_t setting(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : usual;
}

std::string bytes_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The files of a store, by what follows its name; one that is missing is not there.
using Files = std::map<std::string, std::string>;

Files read_files(const std::string& path) {
  Files files;
  for (const char* part : {"", "-wal", ".lock"}) {
    if (fs::exists(path + part)) files[part] = bytes_of(path + part);
  }
  return files;
}

void write_files(const std::string& path, const Files& files) {
  for (const char* part : {"", "-wal", "-shm", "-journal", ".lock"}) fs::remove(path + part);
  for (const auto& [part, bytes] : files) {
    std::ofstream(path + part, std::ios::binary) << bytes;
  }
}

// All that a store shows to anybody.
std::string everything(Store& store) {
  const auto reader = std::move(*store.open_reader());
  Engine engine;
  const auto recovered = recover_engine(*reader, engine);
  if (!recovered.ok()) return "refused: " + recovered.error().message();
  std::string out = "state " + std::to_string(engine.digest()[0]) + "\n";
  const auto facts = reader->facts(0, SIZE_MAX / 4);
  LedgerQuery every;
  every.most = SIZE_MAX / 4;
  const auto ledger = reader->ledger(every);
  AuditQuery all;
  all.most = SIZE_MAX / 4;
  const auto audit = reader->audit(all);
  if (!facts.ok() || !ledger.ok() || !audit.ok()) return "refused: a read";
  for (const Fact& fact : *facts) out += fact_to_text(fact) + "\n";
  for (const LedgerEntry& entry : *ledger) {
    out += std::to_string(entry.seq) + "@" + std::to_string(entry.time_ms) + " " +
           to_text(entry.row) + "\n";
  }
  for (const AuditEntry& entry : *audit) {
    for (const std::string* text : {&entry.actor, &entry.what, &entry.subject, &entry.reason,
                                    &entry.before, &entry.after, &entry.error, &entry.request_id}) {
      out += *text + "|";
    }
    out += std::to_string(entry.seq) + "@" + std::to_string(entry.time_ms) + "\n";
  }
  return out;
}

// A store whose process was killed, with a past in its file and one in its log.
struct Past {
  Files older, files;
  std::string without_last, whole;  // what it shows without and with the log's last transaction
  std::size_t last_begins = 0;      // which is behind this byte of the log
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : world_({seed, false}) {}
  // Facts, a checkpoint, facts; a stop and a start; and the same again, by single commits.
  Past make(const std::string& path) {
    Past past;
    open(path);
    work(1200, 100);
    checkpoint();
    work(200, 100);
    store_ = nullptr;
    past.older = read_files(path);
    open(path);
    work(60, 1);
    checkpoint();
    work(60, 1);
    past.last_begins = fs::file_size(path + "-wal");
    past.without_last = everything(*store_);
    commit_one();
    past.whole = everything(*store_);
    past.files = read_files(path);
    store_ = nullptr;
    return past;
  }

 private:
  void open(const std::string& path) {
    auto opened = open_sqlite_store({path});
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    store_ = std::move(*opened);
  }
  void step() {
    const Input input = world_.next(std::nullopt);
    const ApplyOutcome outcome = engine_.apply(input);
    world_.saw(input, outcome);
    waiting_.insert(waiting_.end(), outcome.facts.begin(), outcome.facts.end());
  }
  void commit() {
    if (waiting_.empty()) return;
    ASSERT_FALSE(store_->commit(std::exchange(waiting_, {})));
  }
  void work(int inputs, int in_a_batch) {
    for (int i = 1; i <= inputs; ++i) {
      step();
      if (i % in_a_batch == 0) commit();
    }
  }
  void commit_one() {
    while (waiting_.empty()) step();
    commit();
  }
  void checkpoint() {
    ASSERT_FALSE(store_->write_checkpoint(engine_.seq(), pack(engine_.checkpoint())));
  }

  sim::RandomWorld world_;
  Engine engine_;
  std::vector<Fact> waiting_;
  std::unique_ptr<Store> store_;
};

class StoreDamageTest : public testing::Test {
 protected:
  StoreDamageTest()
      : dir_(fs::temp_directory_path() / ("subak_damage_" + std::to_string(::getpid()))) {
    log::set_level(LogLevel::kError);
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  ~StoreDamageTest() override { fs::remove_all(dir_); }

  std::string path() const { return (dir_ / "subak.db").string(); }
  // Made once for all tests.
  const Past& past() const {
    static const Past made = Maker(seed_).make((dir_ / "past.db").string());
    return made;
  }
  // What a start on these files shows; or its refusal.
  std::string start(const Files& files) const {
    write_files(path(), files);
    auto store = open_sqlite_store({path()});
    if (!store.ok()) return "refused: " + store.error().message();
    return everything(**store);
  }

  const std::uint64_t seed_ = setting("SUBAK_DAMAGE_SEED", 1);
  const fs::path dir_;
};

// One damage, of the kinds that disks, copies and people make.
class Damager {
 public:
  Damager(const Past& past, std::uint64_t seed) : past_(past), rng_(seed), files_(past.files) {}

  // What it was, for the trace.
  std::string damage() {
    part_ = rng_.percent(50) ? "" : "-wal";
    const std::uint64_t kind = rng_.below(12);
    at_ = rng_.below(bytes().size());
    const std::string where = part_ + " at " + std::to_string(at_);
    switch (kind) {
      case 0:
      case 1:
      case 2:
        return flip(), "a bit of " + where;
      case 3:
        for (std::uint64_t i = 2 + rng_.below(6); i > 0; --i, at_ = rng_.below(bytes().size()))
          flip();
        return "several bits of " + where;
      case 4:
        return fill(512, false), "a sector of nothing in " + where;
      case 5:
        return fill(block(), false), "a page of nothing in " + where;
      case 6:
        return fill(1 + rng_.below(2000), true), "other bytes in " + where;
      case 7:
        return copy_block(true), "two pages swapped in " + where;
      case 8:
        return copy_block(false), "a page twice in " + where;
      case 9:
        bytes().resize(rng_.percent(20) ? 0 : at_);
        return "the end of " + where;
      case 10:
        return older_page(), "an older page in " + where;
      default:
        bytes().erase(at_, 1 + rng_.below(16));
        return "some bytes less in " + where;
    }
  }
  const Files& files() const { return files_; }
  // Only the log's last transaction has been touched.
  bool only_last() const {
    const std::string& log = files_.at("-wal");
    const std::string& whole = past_.files.at("-wal");
    return files_.at("") == past_.files.at("") && log.size() >= past_.last_begins &&
           log.compare(0, past_.last_begins, whole, 0, past_.last_begins) == 0;
  }

 private:
  std::string& bytes() { return files_.at(part_); }
  std::size_t block() const { return part_.empty() ? kPage : kFrame; }
  std::size_t block_at(std::uint64_t n) const {
    return part_.empty() ? n * kPage : kLogHeader + n * kFrame;
  }
  std::size_t random_block() {
    return block_at(rng_.below((bytes().size() - kLogHeader) / block()));
  }
  void flip() { bytes()[at_] = static_cast<char>(bytes()[at_] ^ (1 << rng_.below(8))); }
  void fill(std::size_t size, bool with_noise) {
    const std::size_t from = size == 512 ? at_ / 512 * 512 : size == block() ? random_block() : at_;
    for (std::size_t i = from; i < std::min(from + size, bytes().size()); ++i) {
      bytes()[i] = with_noise ? static_cast<char>(rng_.below(256)) : '\0';
    }
  }
  void copy_block(bool swap) {
    const std::size_t a = random_block(), b = random_block();
    const std::string first = bytes().substr(a, block()), second = bytes().substr(b, block());
    bytes().replace(b, block(), first);
    if (swap) bytes().replace(a, block(), second);
  }
  // A write that the disk lost.
  void older_page() {
    part_ = "";
    const std::string& old = past_.older.at("");
    const std::size_t page = rng_.below(old.size() / kPage) * kPage;
    const std::size_t from = rng_.percent(50) ? page : rng_.below(old.size() / kPage) * kPage;
    if (page < bytes().size()) bytes().replace(page, kPage, old.substr(from, kPage));
  }

  const Past& past_;
  sim::Rng rng_;
  Files files_;
  std::string part_;
  std::size_t at_ = 0;
};

TEST_F(StoreDamageTest, RefusedWithItsPlaceOrWhatWasAcknowledged) {
  const Past& made = past();
  ASSERT_EQ(start(made.files), made.whole);
  std::uint64_t refused = 0, unharmed = 0, ended = 0;
  const std::uint64_t damages = setting("SUBAK_DAMAGES", 80);
  sim::Rng luck(seed_);
  for (std::uint64_t i = 0; i < damages; ++i) {
    Damager damager(made, luck.next());
    SCOPED_TRACE("seed " + std::to_string(seed_) + ", damage " + std::to_string(i) + ": " +
                 damager.damage());
    const std::string got = start(damager.files());
    if (got.starts_with("refused: ")) {
      ++refused;
      EXPECT_TRUE(got.starts_with("refused: " + path())) << got;
      EXPECT_NE(got.find("want "), std::string::npos) << got;
    } else if (got == made.whole) {
      ++unharmed;
    } else {
      ++ended;
      EXPECT_TRUE(damager.only_last()) << "content was altered in silence";
      EXPECT_EQ(got, made.without_last);
    }
  }
  std::cout << damages << " damages: " << refused << " refused, " << unharmed << " did no harm, "
            << ended << " ended the log\n";
  EXPECT_GT(refused, damages / 2);
}

class LogDamageTest : public StoreDamageTest {
 protected:
  // The log alone has to tell: nothing was noted beside the store.
  LogDamageTest() : made_(past()) { made_.files.erase(".lock"); }

  std::size_t frames() const { return (made_.files.at("-wal").size() - kLogHeader) / kFrame; }
  std::size_t first_of_last() const { return (made_.last_begins - kLogHeader) / kFrame; }
  static std::size_t place(std::size_t frame) { return kLogHeader + frame * kFrame; }
  std::string start_flipped(std::size_t at) {
    Files files = made_.files;
    files.at("-wal")[at] = static_cast<char>(files.at("-wal")[at] ^ 0x10);
    return start(files);
  }

  Past made_;
};

TEST_F(LogDamageTest, AFlippedBitBeforeTheLastTransactionIsRefusedWithItsFrame) {
  ASSERT_GT(first_of_last(), 50u);
  // Page number, size of a commit, salt, sum, content. The frame before the last transaction is a
  // commit: of its first words only the note beside the store could tell.
  for (std::size_t frame = 0; frame + 1 < first_of_last(); frame += 7) {
    for (const std::size_t inside : {3u, 7u, 10u, 17u, 24u, 2000u, 4119u}) {
      const std::string got = start_flipped(place(frame) + inside);
      EXPECT_NE(got.find("-wal: was \"frame " + std::to_string(frame + 1) + " (byte " +
                         std::to_string(place(frame)) + ")"),
                std::string::npos)
          << got.substr(0, 300) << " for byte " << inside;
    }
  }
}

TEST_F(LogDamageTest, ABreakInTheLastTransactionIsAnEnd) {
  for (std::size_t frame = first_of_last(); frame < frames(); ++frame) {
    for (const std::size_t inside : {3u, 10u, 17u, 2000u}) {
      EXPECT_EQ(start_flipped(place(frame) + inside), made_.without_last);
    }
    Files cut = made_.files;
    cut.at("-wal").resize(place(frame) + 1000);
    EXPECT_EQ(start(cut), made_.without_last);
  }
}

TEST_F(LogDamageTest, ADamagedHeaderIsRefusedWhileItsFramesCount) {
  for (std::size_t at = 0; at < kLogHeader; ++at) {
    const std::string got = start_flipped(at);
    EXPECT_NE(got.find("-wal: was \"its header (byte 0)"), std::string::npos) << got.substr(0, 300);
  }
  // The same header over frames that the file has: a power cut when the log began anew leaves that.
  Files copied = made_.files;
  {
    write_files(path(), made_.files);
    auto store = open_sqlite_store({path()});
    ASSERT_TRUE(store.ok());
    store = open_sqlite_store({(dir_ / "other.db").string()});  // closes the first: all is copied
    copied.at("") = bytes_of(path());
  }
  copied.at("-wal")[20] = static_cast<char>(copied.at("-wal")[20] ^ 1);
  EXPECT_EQ(start(copied), made_.whole);
}

// The log was used before: behind its end lie frames of that time, whole.
// They count for nothing.
TEST_F(LogDamageTest, FramesOfAnEarlierUseAreNoDamage) {
  Files files = made_.files;
  std::string& log = files.at("-wal");
  for (std::size_t frame = frames() - 5; frame < frames() + 20; ++frame) {
    std::string stale = made_.files.at("-wal").substr(place(frame % 40), kFrame);
    stale[9] = static_cast<char>(stale[9] ^ 1);  // another salt
    log += stale;
  }
  EXPECT_EQ(start(files), made_.whole);
}

TEST_F(LogDamageTest, AnEmptyFileBeforeALogIsNoNewStore) {
  Files files = made_.files;
  files.at("").clear();
  EXPECT_NE(start(files).find("the file is empty, but its log"), std::string::npos);
}

}  // namespace
}  // namespace subak
