#include "server/browser/live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "server/api/common/browser_limits.h"

namespace subak::browser {
namespace {

using ::testing::HasSubstr;

class LiveTest : public ::testing::Test {
 protected:
  std::shared_ptr<HttpStream> open(const char* topics, std::uint64_t last_id = 0,
                                   std::string session = "") {
    LiveReader reader;
    reader.topics = *parse_topics(topics);
    reader.last_id = last_id;
    reader.session = std::move(session);
    reader.may_read = [this] { return may_read_; };
    auto stream = live_.open(std::move(reader));
    EXPECT_TRUE(stream.ok());
    taken(**stream);
    return *stream;
  }
  // What came since the last call.
  static std::string taken(HttpStream& stream) {
    std::string out;
    for (const HttpStream::Part& part : stream.take()) out += *part;
    return out;
  }
  void change(std::string_view topic, std::string json) {
    json_[std::string(topic)] = std::move(json);
    ++sequence_;
  }

  std::map<std::string, std::string> json_{{"queue", "[1]"}, {"status", "[2]"}};
  std::map<std::string, int> reads_;
  std::uint64_t sequence_ = 10;
  DurationMs now_ = 1000;
  bool may_read_ = true, fails_ = false;
  Live live_{
      {[this](const Topic& topic) -> Answered {
         ++reads_[std::string(topic.name)];
         if (fails_) return {{grpc::StatusCode::UNAVAILABLE, "x"}, "", "", ""};
         return {grpc::Status::OK, json_[std::string(topic.name)], std::to_string(sequence_), ""};
       },
       [this] { return sequence_; }, [this] { return now_; }}};
};

TEST_F(LiveTest, ThePresentStateThenChangesAlone) {
  const auto stream = open("queue,status");
  live_.look();
  EXPECT_EQ(taken(*stream),
            "event: status\nid: 10\ndata: [2]\n\nevent: queue\nid: 10\ndata: [1]\n\n");
  live_.look();
  EXPECT_EQ(taken(*stream), "");
  EXPECT_EQ(reads_["queue"], 1) << "no new fact";
  change("queue", "[3]");
  live_.look();
  EXPECT_EQ(taken(*stream), "event: queue\nid: 11\ndata: [3]\n\n");
  now_ += limits::kLiveIdleMs;
  json_["status"] = "[4]";
  live_.look();
  EXPECT_EQ(taken(*stream), "event: status\nid: 11\ndata: [4]\n\n") << "time alone changed it";
}

TEST_F(LiveTest, OneReadAndOneTextForAll) {
  const auto a = open("queue"), b = open("queue");
  live_.look();
  EXPECT_EQ(reads_["queue"], 1);
  EXPECT_EQ(reads_["status"], 0) << "nobody wants it";
  EXPECT_EQ(a->take().at(0), b->take().at(0));
}

TEST_F(LiveTest, WhoReturnsGetsTheDifference) {
  const auto first = open("queue,status");
  live_.look();
  change("queue", "[3]");
  live_.look();
  taken(*first);
  change("queue", "[5]");
  live_.look();
  const auto again = open("queue,status", 11);
  live_.look();
  EXPECT_EQ(taken(*again), "event: queue\nid: 12\ndata: [5]\n\n");
  const auto old = open("queue", 9), early = open("queue", 99);
  live_.look();
  for (const auto& stream : {old, early}) {
    EXPECT_EQ(taken(*stream), "event: reset\ndata: {}\n\nevent: queue\nid: 12\ndata: [5]\n\n");
  }
}

// While nobody looks, the hub does not know what changes.
TEST_F(LiveTest, ATopicThatNobodyFollowedBeginsAnew) {
  open("queue")->end();
  live_.look();
  change("queue", "[3]");
  live_.look();
  const auto again = open("queue", 10);
  live_.look();
  EXPECT_THAT(taken(*again), HasSubstr("event: reset\n"));
}

TEST_F(LiveTest, AFailedReadIsTriedAgain) {
  fails_ = true;
  const auto stream = open("queue");
  live_.look();
  EXPECT_EQ(taken(*stream), "");
  fails_ = false;
  live_.look();
  EXPECT_THAT(taken(*stream), HasSubstr("[1]"));
}

TEST_F(LiveTest, WhoMayReadNoLongerIsEnded) {
  const auto stream = open("queue");
  live_.look();
  may_read_ = false;
  live_.look();
  EXPECT_TRUE(stream->ended());
  EXPECT_EQ(live_.streams(), 0u);
}

TEST_F(LiveTest, AReaderThatTakesNothingIsEnded) {
  const auto slow = open("queue"), quick = open("queue");
  for (int i = 0; i < 12; ++i) {
    change("queue", "\"" + std::string(100'000, static_cast<char>('a' + i)) + "\"");
    live_.look();
    quick->take();
  }
  EXPECT_TRUE(slow->ended());
  EXPECT_FALSE(quick->ended());
  EXPECT_EQ(live_.streams(), 1u);
}

TEST_F(LiveTest, ALongEventNamesItsCall) {
  const auto stream = open("queue");
  change("queue", std::string(limits::kMaxLiveEventBytes + 1, 'x'));
  live_.look();
  EXPECT_EQ(taken(*stream),
            "event: queue\nid: 11\ndata: "
            "{\"tooLong\":true,\"method\":\"/subak.v1.JobService/ListQueue\"}\n\n");
}

TEST_F(LiveTest, ACommentKeepsAQuietConnection) {
  const auto stream = open("queue");
  live_.look();
  taken(*stream);
  now_ += limits::kLiveKeepAliveMs;
  live_.look();
  EXPECT_EQ(taken(*stream), ":\n\n");
}

TEST_F(LiveTest, Bounds) {
  std::vector<std::shared_ptr<HttpStream>> held;
  for (std::size_t i = 0; i < limits::kMaxLiveStreamsPerSession; ++i) {
    held.push_back(open("queue", 0, "ana"));
  }
  LiveReader reader{1, 0, "ana", [] { return true; }};
  EXPECT_EQ(live_.open(reader).error().code, ErrorCode::kExhausted);
  held.front()->end();
  held.push_back(open("queue", 0, "ana"));
  while (live_.streams() < limits::kMaxLiveStreams) held.push_back(open("queue"));
  reader.session = "bob";
  EXPECT_EQ(live_.open(reader).error().code, ErrorCode::kExhausted);
}

TEST(Topics, AreRefusedByName) {
  EXPECT_TRUE(parse_topics("sequence,status,queue,shares,plan").ok());
  EXPECT_EQ(parse_topics("queue,jobs").error().got, "jobs");
  EXPECT_THAT(parse_topics("").error().want, HasSubstr("sequence, status, queue"));
  EXPECT_FALSE(parse_topics("queue,,status").ok());
  EXPECT_EQ(parse_event_id("17"), 17u);
  EXPECT_EQ(parse_event_id("17x"), 0u);
  EXPECT_EQ(parse_event_id("99999999999999999999"), 0u);
}

}  // namespace
}  // namespace subak::browser
