// What a replica knows keeps it from leading on a database that lacks it, until somebody says that it is lost.
#include "server/leader/durable_mark.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "core/limits.h"
#include "tests/server/store/support/facts_reader.h"
#include "tests/server/store/support/store_facts.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

// A database of these facts.
class Database final : public FactsReader {
 public:
  std::vector<Fact> all;
  bool away = false;

  void add(std::uint64_t upto, const std::string& who = "ana") {
    while (all.size() < upto) all.push_back(account_set(all.size() + 1, 2, "ml", 1, who));
  }
  // Somebody led on it after that word.
  void take_for_lost(std::uint64_t known) {
    fact::EditRefused word{"call_denied",
                           std::string(kLossSubject),
                           loss_message({all.size(), known, "the other site burnt"}),
                           {}};
    word.edit.actor = "ana";
    all.push_back({all.size() + 1, static_cast<TimeMs>(all.size() + 1) * 10, word});
  }
  Result<Recovered> recover(FactSink&) override { return Recovered{}; }
  Result<std::vector<Fact>> facts(std::uint64_t after, std::size_t most) override {
    if (away) return Error{ErrorCode::kPrecondition, "store", "away", ""};
    std::vector<Fact> out;
    for (std::size_t i = after; i < all.size() && out.size() < most; ++i) out.push_back(all[i]);
    return out;
  }
  Result<std::vector<AuditEntry>> audit(const AuditQuery& query) override {
    std::vector<AuditEntry> out;
    for (auto fact = all.rbegin(); fact != all.rend() && out.size() < query.most; ++fact) {
      auto row = audit_row(fact->body);
      if (!row || fact->seq >= query.before_seq) continue;
      row->entry.seq = fact->seq;
      if (wants(query, row->entry)) out.push_back(row->entry);
    }
    return out;
  }
};

class DurableMarkTest : public testing::Test {
 protected:
  DurableMarkTest() { begin(); }
  // The process starts, or starts again.
  void begin() {
    known_ = nullptr;
    known_ = std::make_unique<DurableMark>(path_);
    const auto error = known_->open();
    ASSERT_FALSE(error) << error->message();
  }
  bool may_lead() {
    EXPECT_FALSE(known_->compare(database_));
    return known_->may_lead();
  }
  std::string refusal(std::uint64_t until, std::uint64_t last) {
    const auto done = known_->accept({until, "ana", "it burnt"}, last, false);
    return done.ok() ? "" : done.error().message();
  }

  const TempFolder folder_;
  const std::string path_ = folder_.file("subak.known");
  Database database_;
  std::unique_ptr<DurableMark> known_;
};

TEST_F(DurableMarkTest, WhoKnowsNothingMayLead) {
  EXPECT_TRUE(known_->may_lead());
  database_.add(5);
  EXPECT_TRUE(may_lead());
}

TEST_F(DurableMarkTest, WhatIsKnownStaysKnownAndMustBeThere) {
  database_.add(10);
  known_->seen(database_.all);
  begin();
  EXPECT_FALSE(known_->may_lead()) << "not compared";
  database_.away = true;
  EXPECT_TRUE(known_->compare(database_));
  EXPECT_FALSE(known_->may_lead());
  database_.away = false;
  EXPECT_TRUE(may_lead());
  database_.add(20);
  EXPECT_TRUE(may_lead());
}

TEST_F(DurableMarkTest, ACopyThatIsBehindIsNotLedOn) {
  database_.add(10);
  known_->seen(database_.all);
  begin();
  const std::vector<Fact> whole = database_.all;
  database_.all.resize(7);
  EXPECT_FALSE(may_lead());
  ASSERT_TRUE(known_->missing());
  EXPECT_EQ(known_->missing()->seq, 10u);
  begin();
  EXPECT_FALSE(may_lead()) << "after another start too";
  known_->seen({whole[7], whole[8]});
  EXPECT_FALSE(known_->may_lead());
  known_->seen({whole[9]});
  EXPECT_TRUE(known_->may_lead()) << "the database that has them is back";
}

TEST_F(DurableMarkTest, AnotherFactUnderThatNumberIsNotTheOne) {
  database_.add(10);
  known_->seen(database_.all);
  begin();
  database_.all.resize(7);
  database_.add(12, "bob");
  EXPECT_FALSE(may_lead());
}

TEST_F(DurableMarkTest, TheWordNamesTheLastFactAndIsKeptUntilItIsWritten) {
  database_.add(10);
  known_->seen(database_.all);
  EXPECT_NE(refusal(10, 10).find("nothing is lost"), std::string::npos);
  begin();
  database_.all.resize(7);
  ASSERT_FALSE(may_lead());
  EXPECT_EQ(refusal(8, 7),
            "until: was \"8\", want 7, the last fact of the database; this replica knows 10");
  EXPECT_NE(refusal(6, 7), "");
  EXPECT_TRUE(known_->accept({7, "ana", ""}, 7, true).ok());
  EXPECT_FALSE(known_->may_lead()) << "a check only";
  EXPECT_EQ(refusal(7, 7), "");
  EXPECT_TRUE(known_->may_lead());
  EXPECT_TRUE(may_lead()) << "compared again, as after the lead was taken";
  std::string actor;
  const auto word = known_->word(&actor);
  ASSERT_TRUE(word);
  EXPECT_EQ(actor, "ana");
  EXPECT_EQ(word->until, 7u);
  EXPECT_EQ(word->known, 10u);
  EXPECT_EQ(word->reason, "it burnt");
  database_.take_for_lost(10);
  known_->seen({database_.all.back()});
  EXPECT_FALSE(known_->word(&actor));
  begin();
  EXPECT_TRUE(may_lead());
}

TEST_F(DurableMarkTest, AWordThatIsNotWrittenIsForgottenWithTheProcess) {
  database_.add(10);
  known_->seen(database_.all);
  begin();
  database_.all.resize(7);
  ASSERT_FALSE(may_lead());
  ASSERT_EQ(refusal(7, 7), "");
  begin();
  EXPECT_FALSE(may_lead());
}

// Others see by the row of who leads that they may follow: as it comes, and at their next start.
TEST_F(DurableMarkTest, OthersFollowWhoTookItForLost) {
  database_.add(10);
  known_->seen(database_.all);
  for (const bool is_there : {false, true}) {
    SCOPED_TRACE(is_there);
    begin();
    database_.all.resize(7);
    if (is_there) {
      database_.take_for_lost(10);
      database_.add(15, "bob");
      EXPECT_TRUE(may_lead());
    } else {
      EXPECT_FALSE(may_lead());
      database_.take_for_lost(10);
      known_->seen({database_.all.back()});
      EXPECT_TRUE(known_->may_lead());
      database_.all.resize(7);
      database_.add(10);
      known_->seen(database_.all);  // as if it had not been, for the second time
      const MarkedFact before{10, database_.all.back().time_ms, sum_of_marked(database_.all.back()),
                              0};
      known_ = nullptr;
      ASSERT_FALSE(write_durable_mark_file(path_, before));
    }
  }
}

// A word about another loss, which this replica saw or had before it, says nothing about this one.
TEST_F(DurableMarkTest, AWordOfBeforeIsNotOfThisLoss) {
  database_.add(5);
  database_.take_for_lost(9);
  database_.add(20);
  EXPECT_TRUE(may_lead()) << "it knows nothing, and reads what was said";
  known_->seen({database_.all.begin() + 10, database_.all.end()});
  begin();
  database_.all.resize(15);
  EXPECT_FALSE(may_lead());
  database_.all.resize(5);
  database_.add(30, "bob");
  EXPECT_FALSE(may_lead()) << "and where the word is gone too";
}

TEST_F(DurableMarkTest, AFileThatSomebodyChangedIsRefused) {
  database_.add(10);
  known_->seen(database_.all);
  known_ = nullptr;
  std::string text;
  std::getline(std::ifstream(path_), text, '\0');
  text.replace(text.find("seq 10"), 6, "seq 11");
  std::ofstream(path_) << text;
  known_ = std::make_unique<DurableMark>(path_);
  const auto error = known_->open();
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("not what this replica has written"), std::string::npos);
}

// What the audit log says, and that no refusal can say it.
TEST(LossAccepted, IsAnEditInTheAuditLog) {
  const LossAccepted loss{7, 10, "until=99 known=3: it burnt"};
  const fact::EditRefused fact{"call_denied", "store", loss_message(loss), {"ana", "", ""}};
  const auto row = audit_row(fact);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->entry.what, "loss_accepted");
  EXPECT_EQ(row->entry.subject, "store");
  EXPECT_EQ(row->entry.reason, loss.reason);
  EXPECT_EQ(row->entry.before, "known=10");
  EXPECT_EQ(row->entry.after, "until=7");
  EXPECT_EQ(row->entry.error, "");
  EXPECT_EQ(loss_until(row->entry), 7u);
  const fact::EditRefused other{
      "call_denied", "store", "token:loss may only read", {"ana", "", ""}};
  EXPECT_FALSE(loss_accepted(other));
  EXPECT_EQ(audit_row(other)->entry.what, "call_denied");
  EXPECT_LE(loss_message({1, 2, std::string(5000, 'x')}).size(), limits::kMaxMessageBytes);
}

}  // namespace
}  // namespace subak
