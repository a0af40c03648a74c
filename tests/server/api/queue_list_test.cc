// ListQueue: the jobs of one workload are one row, on pages of any size.
#include "server/api/calls/queue_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/workloads/replicas.h"

namespace subak::api {
namespace {

class QueueListTest : public ReplicasTest {
 protected:
  // One page of the queue in the order `order`.
  v1::ListQueueResponse page(const QueueSnapshot& order, bool expand, int size = 0,
                             const std::string& token = "", const std::string& account = "") {
    v1::ListQueueRequest in;
    in.set_expand(expand);
    in.set_account(account);
    Check check;
    const QueuePage at = read_queue_page(check, size, token);
    EXPECT_TRUE(check.ok());
    v1::ListQueueResponse out;
    const ForecastStarts starts{std::make_shared<const Forecast>(), {}, nullptr};
    list_queue(engine_, order, starts, now_, in, at, &out);
    return out;
  }
  // "POSITION NAME xJOBS" of each row.
  static std::vector<std::string> texts(const v1::ListQueueResponse& page) {
    std::vector<std::string> out;
    for (const v1::QueueRow& row : page.rows()) {
      out.push_back(std::to_string(row.position()) + " " + row.job().spec().name() + " x" +
                    std::to_string(row.jobs()));
    }
    return out;
  }
  using Texts = std::vector<std::string>;
};

TEST_F(QueueListTest, AWorkloadIsOneRow) {
  for (const char* name : {"1", "2", "3", "4", "5"}) see("a", name, "llm");
  pass();
  see("a", "6", "other");
  const auto out = page(engine_.queue_snapshot(), false);
  EXPECT_EQ(texts(out), (Texts{"1 a/4 x2", "3 a/6 x1"}));
  const v1::Workload& llm = out.rows(0).job().workload();
  EXPECT_EQ(llm.kind(), "Deployment");
  EXPECT_EQ(llm.name(), "a/llm");
  EXPECT_EQ(llm.jobs(), 5);
  EXPECT_EQ(llm.running(), 3);
  EXPECT_EQ(llm.waiting(), 2);
  EXPECT_EQ(texts(page(engine_.queue_snapshot(), true)),
            (Texts{"1 a/4 x1", "2 a/5 x1", "3 a/6 x1"}));
}

TEST_F(QueueListTest, TheRowIsAtThePlaceOfTheFirstJob) {
  see("a", "1", "llm");
  see("b", "2", "");
  see("a", "3", "llm");
  see("b", "4", "");
  const QueueSnapshot order = engine_.queue_snapshot();
  const Texts all = texts(page(order, false));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(std::count(all.begin(), all.end(), "1 a/1 x2"), 1);
  EXPECT_EQ(texts(page(order, false, 0, "", "a")), (Texts{"1 a/1 x2"}));
  EXPECT_EQ(texts(page(order, false, 0, "", "b")).size(), 2u) << "positions of the whole queue";
}

TEST_F(QueueListTest, TheNextJobTakesTheRowOfAJobThatHasLeft) {
  for (const char* name : {"1", "2", "3"}) see("a", name, "llm");
  const QueueSnapshot before = engine_.queue_snapshot();
  gone("1");
  EXPECT_EQ(texts(page(before, false)), (Texts{"2 a/2 x2"}));
  gone("2");
  EXPECT_EQ(texts(page(before, false)), (Texts{"3 a/3 x1"}));
}

TEST_F(QueueListTest, PagesOfAnySizeHaveTheSameRows) {
  for (int n = 0; n < 40; ++n) {
    see(n % 3 == 0 ? "b" : "a", "p" + std::to_string(n), n % 5 == 0 ? "" : n % 2 ? "odd" : "even");
  }
  const QueueSnapshot order = engine_.queue_snapshot();
  for (const bool expand : {false, true}) {
    const Texts all = texts(page(order, expand));
    EXPECT_EQ(all.size(), expand ? 40u : 4u + 8u) << "odd and even of two accounts, and bare pods";
    for (int size = 1; size < 7; ++size) {
      Texts pages;
      std::string token;
      do {
        const v1::ListQueueResponse one = page(order, expand, size, token);
        EXPECT_LE(one.rows_size(), size);
        for (std::string& text : texts(one)) pages.push_back(std::move(text));
        token = one.next_page_token();
      } while (!token.empty());
      EXPECT_EQ(pages, all) << "pages of " << size;
    }
  }
}

}  // namespace
}  // namespace subak::api
