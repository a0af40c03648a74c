// Past checkpoints: their form, which ones a store keeps, and what each kind of store does with
// those that are damaged, incomplete or of another history.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/codec/past_checkpoint_limits.h"
#include "server/store/past/past_checkpoint.h"
#include "server/store/past/past_files.h"
#include "server/store/past/past_table.h"
#include "server/store/proof/head.h"
#include "tests/server/store/support/pack_facts.h"
#include "tests/server/store/support/store_facts.h"
#include "tests/server/store/support/store_stand.h"

namespace subak {
namespace {

constexpr std::uint64_t kN = limits::kPastCheckpointFacts;

std::vector<Fact> some_facts(std::uint64_t count, std::uint64_t salt = 0) {
  std::vector<Fact> out;
  for (std::uint64_t i = 1; i <= count; ++i) {
    out.push_back(charged(0, static_cast<TimeMs>(i), static_cast<TimeMs>(i + 1 + salt), 5,
                          "product " + std::to_string(i * 7919 + salt)));
  }
  return out;
}

std::vector<std::string> texts_of(const std::vector<Fact>& facts) {
  std::vector<std::string> out;
  for (const Fact& fact : facts) out.push_back(text_of(fact));
  return out;
}

// --- the form ------------------------------------------------------------------------------------

TEST(PastCheckpoint, ComesBackAsItWas) {
  for (const std::uint64_t count : {0u, 1u, 1000u, 60'000u}) {
    const auto facts = some_facts(count);
    const auto bytes = encode_past_checkpoint(pack(facts), 77, 5, 9);
    ASSERT_TRUE(bytes.ok());
    const auto head = read_past_head(*bytes, 9);
    ASSERT_TRUE(head);
    EXPECT_EQ(*head, (PastHead{77, 5, 1, count}));
    Texts read;
    ASSERT_FALSE(decode_past_checkpoint(*bytes, 9, kFactVersion, read));
    EXPECT_EQ(read.checkpoint, texts_of(facts));
    EXPECT_EQ(read.checkpoint_seq, 77u);
  }
}

TEST(PastCheckpoint, IsSmallerThanItsFacts) {
  const PackedFacts facts = pack(some_facts(60'000));
  std::size_t size = 0;
  PackedFacts::Cursor cursor(facts);
  for (PackedFacts::Row row; cursor.next(row);) size += row.body.size() + 16;
  EXPECT_LT(encode_past_checkpoint(facts, 1, 1, 1)->size(), size / 3);
}

// Each changed byte and each missing end is noticed.
TEST(PastCheckpoint, EachDamageIsNoticed) {
  const std::string whole = *encode_past_checkpoint(pack(some_facts(300)), 77, 5, 9);
  const auto is_refused = [](const std::string& bytes, std::uint32_t seed = 9,
                             std::uint32_t version = kFactVersion) {
    Texts read;
    const auto error = decode_past_checkpoint(bytes, seed, version, read);
    return error && error->field == "store.past" && read.checkpoint_seq == 999;
  };
  ASSERT_FALSE(is_refused(whole));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    ASSERT_TRUE(is_refused(changed)) << i;
    ASSERT_TRUE(is_refused(whole.substr(0, i))) << i;
  }
  EXPECT_TRUE(is_refused(whole + "x"));
  EXPECT_TRUE(is_refused(whole, 10)) << "of another store";
  EXPECT_TRUE(is_refused(whole, 9, 0)) << "for a newer program";
}

// --- which ones a store keeps --------------------------------------------------------------------

// In memory, with sizes that the test chooses.
class MemoryTable final : public PastTable {
 public:
  Result<std::vector<StoredCheckpoint>> list() override { return kept; }
  Result<std::uint32_t> sum_of_fact(std::uint64_t) override { return 1u; }
  std::optional<Error> write(std::uint64_t seq, std::string_view bytes) override {
    kept.push_back({seq, 0, size == 0 ? bytes.size() : size});
    std::sort(kept.begin(), kept.end(), [](auto& a, auto& b) { return a.seq < b.seq; });
    return std::nullopt;
  }
  std::optional<Error> keep_only(std::span<const StoredCheckpoint> stay) override {
    std::erase_if(kept, [&](const StoredCheckpoint& one) {
      return std::none_of(stay.begin(), stay.end(),
                          [&](const StoredCheckpoint& other) { return other.seq == one.seq; });
    });
    return std::nullopt;
  }
  bool add(std::uint64_t seq) {
    const PackedFacts none;
    asked = false;
    EXPECT_FALSE(add_past_checkpoint(*this, 9, seq, [&] {
      asked = true;
      return &none;
    }));
    return std::any_of(kept.begin(), kept.end(), [&](auto& one) { return one.seq == seq; });
  }
  std::uint64_t widest_gap() const {
    std::uint64_t widest = kept.front().seq;
    for (std::size_t i = 1; i < kept.size(); ++i) {
      widest = std::max(widest, kept[i].seq - kept[i - 1].seq);
    }
    return widest;
  }

  std::vector<StoredCheckpoint> kept;
  std::uint64_t size = 0;  // of each; 0: as encoded
  bool asked = false;
};

TEST(PastTable, KeepsOneOnlyIfNoneIsNear) {
  MemoryTable table;
  EXPECT_FALSE(table.add(kN - 1));
  EXPECT_FALSE(table.asked) << "no copy was made";
  EXPECT_TRUE(table.add(kN));
  table.add(kN);
  EXPECT_FALSE(table.asked) << "it is there";
  EXPECT_FALSE(table.add(2 * kN - 1));
  EXPECT_TRUE(table.add(5 * kN));
  EXPECT_FALSE(table.add(4 * kN + 1)) << "the next one is near";
  EXPECT_TRUE(table.add(3 * kN)) << "in a gap";
  EXPECT_EQ(table.kept.size(), 3u);
}

TEST(PastTable, KeepsNothingIfTheFactsCannotBeStored) {
  MemoryTable table;
  EXPECT_FALSE(add_past_checkpoint(table, 9, kN, [] { return nullptr; }));
  EXPECT_TRUE(table.kept.empty());
}

// 10^7 facts are within the limits, so no gap of them is wider than that between two checkpoints. A
// longer history is thinned evenly.
TEST(PastTable, ThinsALongHistoryEvenly) {
  MemoryTable table;
  for (std::uint64_t seq = kN; seq <= 10'000'000; seq += kN) EXPECT_TRUE(table.add(seq));
  EXPECT_EQ(table.widest_gap(), kN);
  for (std::uint64_t i = 51; i <= 1000; ++i) {
    EXPECT_TRUE(table.add(i * kN)) << "the newest is always kept";
    const std::uint64_t even = (i * kN + limits::kMaxPastCheckpoints - 1) / table.kept.size();
    EXPECT_LE(table.widest_gap(), std::max(2 * kN, 4 * even)) << i;
    EXPECT_LE(table.kept.size(), limits::kMaxPastCheckpoints);
  }
  EXPECT_EQ(table.kept.size(), limits::kMaxPastCheckpoints);
}

// What a fold adds to a gap of a full store stays there: nothing is written again and again.
TEST(PastTable, AFullStoreChangesOnlyForTheBetter) {
  MemoryTable table;
  std::mt19937_64 random(11);
  for (std::uint64_t i = 1; i <= 300; ++i) table.add(i * kN);
  std::uint64_t written = 0, widest = table.widest_gap();
  for (int i = 0; i < 2000; ++i) {
    written += table.add(1 + random() % (300 * kN)) ? 1 : 0;
    EXPECT_LE(table.widest_gap(), widest);
    widest = table.widest_gap();
  }
  EXPECT_LT(written, 300u);
}

TEST(PastTable, AllTogetherHaveABoundedSize) {
  MemoryTable table;
  table.size = limits::kMaxPastCheckpointsBytes / 10;
  for (std::uint64_t i = 1; i <= 50; ++i) {
    table.add(i * kN);
    std::uint64_t bytes = 0;
    for (const StoredCheckpoint& one : table.kept) bytes += one.bytes;
    EXPECT_LE(bytes, limits::kMaxPastCheckpointsBytes + table.size);
  }
  EXPECT_GE(table.kept.size(), 9u);
}

// --- both kinds of stores ------------------------------------------------------------------------

class StorePast : public testing::TestWithParam<std::string> {
 protected:
  StorePast() : store_(std::move(*stand_->open(kFactVersion))) {
    EXPECT_FALSE(store_->commit(std::vector<Fact>{charged(1, 0, 1)}));
    for (const std::uint64_t seq : {kN, 2 * kN, 3 * kN}) add_fact(seq);
  }
  bool is_postgres() const { return GetParam() == "postgres"; }
  // A fact without those before it: only its number and its checksum count here.
  void add_fact(std::uint64_t seq) {
    const std::string number = std::to_string(seq), sum = std::to_string(seq % 1000 + 7);
    stand_->run(is_postgres()
                    ? "INSERT INTO facts VALUES (" + number + ", 1, 1, 1, ''::bytea, 0, 0, " + sum +
                          ")"
                    : "INSERT INTO facts VALUES (" + number + ", 1, 1, x'', " + sum + ")");
  }
  std::optional<Error> add(std::uint64_t seq, const std::vector<Fact>& facts) {
    const PackedFacts packed = pack(facts);
    return store_->add_past_checkpoint(seq, [&] { return &packed; });
  }
  std::vector<std::uint64_t> kept() {
    reader_ = std::move(*store_->open_reader());
    const auto all = reader_->past_checkpoints();
    EXPECT_TRUE(all.ok()) << all.error().message();
    std::vector<std::uint64_t> out;
    for (const StoredCheckpoint& one : *all) {
      EXPECT_GT(one.bytes, kPastHeadBytes);
      out.push_back(one.seq);
    }
    return out;
  }
  // The facts of one; an error's field.
  std::vector<std::string> read(std::uint64_t seq) {
    reader_ = std::move(*store_->open_reader());
    Texts texts;
    const auto error = reader_->read_past_checkpoint(seq, texts);
    if (error) return {"error " + error->message()};
    EXPECT_EQ(texts.checkpoint_seq, seq);
    return texts.checkpoint;
  }
  std::string file(std::uint64_t seq) const {
    const std::string described = store_->describe();
    return described.substr(described.find(' ') + 1) + kPastSuffix + "/" + std::to_string(seq);
  }

  std::unique_ptr<subak::Stand> stand_ = make_stand(GetParam());
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
};

INSTANTIATE_TEST_SUITE_P(Stores, StorePast, testing::Values("sqlite", "postgres"),
                         [](const auto& one) { return one.param; });

TEST_P(StorePast, KeepsWhatWasAdded) {
  EXPECT_TRUE(kept().empty());
  const auto first = some_facts(10), third = some_facts(100'000, 3);
  ASSERT_FALSE(add(kN, first));
  ASSERT_FALSE(add(3 * kN, third));
  EXPECT_EQ(kept(), (std::vector<std::uint64_t>{kN, 3 * kN}));
  EXPECT_EQ(read(kN), texts_of(first));
  EXPECT_EQ(read(3 * kN), texts_of(third));
  EXPECT_EQ(reader_->past_checkpoints()->back().facts, 100'000u);
  EXPECT_EQ(read(2 * kN)[0].find("error "), 0u);
}

// A store that was restored until an earlier fact has the same uuid, and other facts with the same
// numbers.
TEST_P(StorePast, DropsThoseOfAnotherHistory) {
  for (const std::uint64_t seq : {kN, 2 * kN}) ASSERT_FALSE(add(seq, some_facts(5)));
  stand_->run("UPDATE facts SET sum = 1 WHERE seq = " + std::to_string(kN));
  EXPECT_EQ(kept(), (std::vector<std::uint64_t>{2 * kN}));
  stand_->run("DELETE FROM facts WHERE seq = " + std::to_string(2 * kN));
  EXPECT_TRUE(kept().empty());
  ASSERT_FALSE(add(3 * kN, some_facts(5)));
  stand_->run("UPDATE facts SET sum = " + std::to_string(kN % 1000 + 7) +
              " WHERE seq = " + std::to_string(kN));
  EXPECT_EQ(kept(), (std::vector<std::uint64_t>{3 * kN})) << "the others were removed";
  ASSERT_FALSE(add(kN, some_facts(6)));
  EXPECT_EQ(read(kN), texts_of(some_facts(6)));
}

TEST_P(StorePast, ADamagedOneIsRefused) {
  const auto facts = some_facts(2000);
  ASSERT_FALSE(add(kN, facts));
  ASSERT_FALSE(add(2 * kN, facts));
  if (is_postgres()) {
    stand_->run(
        "UPDATE past_checkpoints SET bytes = set_byte(bytes, length(bytes) - 5, 7 # "
        "get_byte(bytes, length(bytes) - 5)) WHERE seq = " +
        std::to_string(kN));
  } else {
    std::fstream out(file(kN), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(-5, std::ios::end);
    out.write("wrong", 5);
  }
  EXPECT_NE(read(kN)[0].find("past checkpoint " + std::to_string(kN) + " is damaged"),
            std::string::npos)
      << read(kN)[0];
  EXPECT_EQ(read(2 * kN), texts_of(facts));
}

// A crash leaves a part of one.
TEST_P(StorePast, AnIncompleteOneIsNeverRead) {
  ASSERT_FALSE(add(kN, some_facts(200'000)));
  if (is_postgres()) {
    stand_->run("DELETE FROM past_checkpoints WHERE part = 0");
  } else {
    std::filesystem::rename(file(kN), file(kN) + ".new");
  }
  EXPECT_TRUE(kept().empty());
  ASSERT_FALSE(add(2 * kN, some_facts(5)));
  EXPECT_EQ(kept(), std::vector<std::uint64_t>{2 * kN});
  if (!is_postgres()) {
    EXPECT_FALSE(std::filesystem::exists(file(kN) + ".new"));
  }
  ASSERT_FALSE(add(kN, some_facts(7)));
  EXPECT_EQ(read(kN), texts_of(some_facts(7)));
}

TEST_P(StorePast, OnlyTheLeaderWrites) {
  if (!is_postgres()) GTEST_SKIP() << "a file has one process";
  dynamic_cast<SharedStore&>(*store_).give_up_lead();
  auto other = std::move(*stand_->open(kFactVersion));
  const auto error = add(kN, some_facts(5));
  EXPECT_TRUE(!error || error->got == "another process leads by now") << error->message();
  EXPECT_TRUE(kept().empty());
}

// --- files ---------------------------------------------------------------------------------------

class PastFilesTest : public testing::Test {
 protected:
  PastFilesTest() {
    auto store = open_sqlite_store({folder_.file("subak.db")});
    EXPECT_FALSE((*store)->commit(std::vector<Fact>{charged(1, 0, 1)}));
    store_ = std::move(*store);
    EXPECT_TRUE(db_.open(folder_.file("subak.db"), OpenMode::kReadWrite));
    seed_ = *read_seed(db_);
  }
  std::string bytes_of(std::uint64_t seq, const std::vector<Fact>& facts) {
    PastFiles files(db_, seed_);
    return *encode_past_checkpoint(pack(facts), seq, *files.sum_of_fact(seq), seed_);
  }

  const TempFolder folder_;
  std::unique_ptr<Store> store_;
  Connection db_;
  std::uint32_t seed_ = 0;
};

TEST_F(PastFilesTest, OtherFilesInTheFolderDoNoHarm) {
  PastFiles files(db_, seed_);
  const std::string folder = folder_.file("subak.db.past");
  ASSERT_FALSE(files.write(1, bytes_of(1, some_facts(3))));
  for (const char* name : {"README", "2", "01", "-1", "18446744073709551616", "3.new"}) {
    std::ofstream(folder + "/" + name) << "something";
  }
  std::filesystem::copy_file(folder + "/1", folder + "/7");  // under another number
  const auto all = files.list();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 1u);
  Texts texts;
  EXPECT_TRUE(files.read(7, kFactVersion, texts));
  EXPECT_FALSE(files.read(1, kFactVersion, texts));
  ASSERT_FALSE(files.keep_only(*all));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  const auto rights = std::filesystem::status(folder).permissions();
  EXPECT_EQ(rights, std::filesystem::perms::owner_all);
}

TEST_F(PastFilesTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_.file("subak.db.past")) << "a file";
  PastFiles files(db_, seed_);
  const auto error = files.write(1, bytes_of(1, some_facts(3)));
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("subak.db.past"), std::string::npos);
  EXPECT_FALSE(store_->commit(std::vector<Fact>{charged(2, 1, 2)})) << "the service goes on";
}

// A disk that is full during the write is simulated by a limit on the size of a file.
TEST_F(PastFilesTest, AFullDiskCostsOnlyTheNewCheckpoint) {
  PastFiles files(db_, seed_);
  ASSERT_FALSE(files.write(1, bytes_of(1, some_facts(100))));
  ASSERT_FALSE(store_->commit(std::vector<Fact>{charged(2, 1, 2)}));
  const std::string next = bytes_of(2, some_facts(5000));
  ASSERT_GT(next.size(), 8192u);
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small = {8192, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto error = files.write(2, next);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("subak.db.past"), std::string::npos) << error->message();
  const auto all = files.list();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 1u);
  Texts texts;
  EXPECT_FALSE(files.read(1, kFactVersion, texts));
  EXPECT_EQ(texts.checkpoint.size(), 100u);
  const std::filesystem::directory_iterator left(folder_.file("subak.db.past"));
  EXPECT_EQ(std::distance(left, {}), 1) << "a part of the new file is left";
  EXPECT_FALSE(files.write(2, next)) << "there is room again";
  EXPECT_EQ(files.list()->size(), 2u);
}

// A process that is killed leaves each file whole or not at all.
TEST_F(PastFilesTest, AKilledWriterLeavesWholeFiles) {
  const std::string first = bytes_of(1, some_facts(2000)), second = bytes_of(1, some_facts(1000));
  std::mt19937 random(3);
  int read = 0;
  for (int i = 0; i < 25; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Connection own;
      if (!own.open(folder_.file("subak.db"), OpenMode::kReadOnly)) ::_exit(1);
      PastFiles files(own, seed_);
      for (bool odd = false;; odd = !odd) {
        if (files.write(1, odd ? first : second)) ::_exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    PastFiles files(db_, seed_);
    const auto all = files.list();
    ASSERT_TRUE(all.ok());
    if (all->empty()) continue;
    Texts texts;
    const auto error = files.read(1, kFactVersion, texts);
    ASSERT_FALSE(error) << error->message();
    EXPECT_TRUE(texts.checkpoint.size() == 1000 || texts.checkpoint.size() == 2000);
    ++read;
  }
  EXPECT_GT(read, 10);
}

}  // namespace
}  // namespace subak
