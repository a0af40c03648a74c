// Readers: what one asks for does not hold up another, and what each may hold has a bound.
#include <thread>

#include "api_fixture.h"
#include "server/api/common/denials.h"
#include "server/api/streams/streams.h"

namespace subak {
namespace {

class ApiReadersTest : public ApiTest {
 protected:
  void SetUp() override {
    start();
    ASSERT_TRUE(import_nodes(1).ok());
    ASSERT_TRUE(create_account("ml").ok());
    ASSERT_TRUE(create_account("bio").ok());
    submit(job_request("ml", 1, 8));  // takes the node: what follows waits
  }
  // `count` jobs that wait, of one account, in this order.
  std::vector<std::string> queue_jobs(int count, const std::string& account = "ml") {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) ids.push_back(submit(job_request(account, 1, 8)));
    return ids;
  }
  v1::ListQueueResponse page(int size, const std::string& token, const std::string& account = "") {
    v1::ListQueueRequest in;
    in.set_page_size(size);
    in.set_page_token(token);
    in.set_account(account);
    v1::ListQueueResponse out;
    const auto status = run([&](auto* c) { return jobs_->ListQueue(c, in, &out); });
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  static std::vector<std::string> ids_of(const v1::ListQueueResponse& page) {
    std::vector<std::string> ids;
    for (const auto& row : page.rows()) ids.push_back(row.job().id());
    return ids;
  }
  void cancel(const std::string& id) {
    v1::CancelJobRequest in;
    in.set_job_id(id);
    v1::EditJobResponse out;
    ASSERT_TRUE(run([&](auto* c) { return jobs_->CancelJob(c, in, &out); }).ok());
  }
};

using Ids = std::vector<std::string>;

// The order moves between two pages: nothing is left out for that.
TEST_F(ApiReadersTest, PagesGoOnBehindTheJobTheyEndedWith) {
  const Ids ids = queue_jobs(6);
  const auto first = page(2, "");
  EXPECT_EQ(ids_of(first), (Ids{ids[0], ids[1]}));
  cancel(ids[0]);
  const auto second = page(2, first.next_page_token());
  EXPECT_EQ(ids_of(second), (Ids{ids[2], ids[3]}));
  EXPECT_EQ(second.rows(0).position(), 2);
  cancel(ids[3]);  // the job that the token names: who has its position now comes next
  EXPECT_EQ(ids_of(page(2, second.next_page_token())), (Ids{ids[4], ids[5]}));
  const auto rest = page(10, first.next_page_token());
  EXPECT_EQ(ids_of(rest), (Ids{ids[2], ids[4], ids[5]}));
  EXPECT_EQ(rest.next_page_token(), "");
}

TEST_F(ApiReadersTest, PagesOfOneAccountSkipTheOthers) {
  const Ids ml = queue_jobs(3);
  const Ids bio = queue_jobs(3, "bio");
  const auto first = page(2, "", "ml");
  EXPECT_EQ(ids_of(first), (Ids{ml[0], ml[1]}));
  const auto second = page(2, first.next_page_token(), "ml");
  EXPECT_EQ(ids_of(second), (Ids{ml[2]}));
  EXPECT_EQ(second.next_page_token(), "");
  EXPECT_EQ(page(10, "").rows_size(), 6);
}

TEST_F(ApiReadersTest, AQueueTokenIsCheckedWhole) {
  v1::ListQueueRequest in;
  v1::ListQueueResponse out;
  for (const char* token : {"x", "5", "5.", "5.x", "0.1-1", ".1-1", "5.1-1.2"}) {
    in.set_page_token(token);
    EXPECT_EQ(bad_field(run([&](auto* c) { return jobs_->ListQueue(c, in, &out); })), "page_token")
        << token;
  }
}

// What WhyNamesConstraintsAndTheWalk sees of a short queue holds where the order is shared.
TEST_F(ApiReadersTest, WhyTellsThePositionOfAJobThatJustCame) {
  const Ids ids = queue_jobs(3);
  EXPECT_EQ(page(10, "").rows_size(), 3);
  const std::string last = queue_jobs(1)[0];
  v1::ExplainJobRequest in;
  v1::Explanation out;
  in.set_job_id(last);
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ExplainJob(c, in, &out); }).ok());
  EXPECT_EQ(out.position(), 4);
  cancel(ids[0]);
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ExplainJob(c, in, &out); }).ok());
  EXPECT_EQ(out.position(), 3);
}

// Twenty readers of the queue wait behind a dear read; status and an edit do not wait for them.
TEST_F(ApiReadersTest, StatusAndEditsPassReadersOfTheQueue) {
  std::promise<void> first_entered, second_entered, go_first, go_second;
  ASSERT_EQ(follower_->read_expensive("other",
                                      [&](const Engine&) {
                                        first_entered.set_value();
                                        go_first.get_future().wait();
                                      }),
            Queued::kYes);
  first_entered.get_future().wait();
  ASSERT_EQ(follower_->read_expensive("other",
                                      [&](const Engine&) {
                                        second_entered.set_value();
                                        go_second.get_future().wait();
                                      }),
            Queued::kYes);
  constexpr std::size_t kReaders = 20;
  std::atomic<std::size_t> answered{0};
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      page(10, "");
      ++answered;
    });
  }
  while (follower_->stats().reads_waiting < kReaders + 1) std::this_thread::yield();
  v1::Status status;
  grpc::Status asked, edited;
  std::thread looker(
      [&] { asked = run([&](auto* c) { return admin_->GetStatus(c, {}, &status); }); });
  while (follower_->stats().reads_waiting < kReaders + 2) std::this_thread::yield();
  edited = create_account("new");  // an admin's edit reads nothing, so it passes all of them
  go_first.set_value();
  looker.join();
  EXPECT_TRUE(asked.ok());
  EXPECT_TRUE(edited.ok());
  second_entered.get_future().wait();
  EXPECT_EQ(answered, 0u) << "the readers still wait";
  go_second.set_value();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(answered, kReaders);
}

TEST_F(ApiReadersTest, OneCallersDearReadsHaveABound) {
  std::promise<void> entered, go_on;
  ASSERT_EQ(follower_->read_expensive("loopback",
                                      [&](const Engine&) {
                                        entered.set_value();
                                        go_on.get_future().wait();
                                      }),
            Queued::kYes);
  entered.get_future().wait();
  for (std::size_t i = 1; i < limits::kMaxReadsPerCaller; ++i) {
    ASSERT_EQ(follower_->read_expensive("loopback", [](const Engine&) {}), Queued::kYes);
  }
  v1::ListQueueResponse out;
  const auto status = run([&](auto* c) { return jobs_->ListQueue(c, {}, &out); });
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("64 reads of one caller"), std::string::npos)
      << status.error_message();
  EXPECT_TRUE(has_detail<google::rpc::RetryInfo>(status));
  go_on.set_value();
  // The first read uses the promises until it ends, which is before the others begin.
  while (follower_->stats().reads_waiting > 0) std::this_thread::yield();
}

// A message that many streams wait to send is there once, and counted until the last lets go.
TEST(StreamBytesTest, CountsAMessageOnce) {
  api::StreamBytes bytes;
  v1::WatchJobsResponse message;
  message.mutable_job()->set_id(std::string(1000, 'x'));
  auto one = bytes.keep(std::move(message));
  const std::size_t used = bytes.used();
  EXPECT_GE(used, 1000u);
  auto other = one;
  EXPECT_EQ(bytes.used(), used);
  one = nullptr;
  EXPECT_EQ(bytes.used(), used);
  other = nullptr;
  EXPECT_EQ(bytes.used(), 0u);
}

class ApiWatchBytesTest : public ApiReadersTest {
 protected:
  ApiWatchBytesTest() { options_.most_watch_bytes = 256u << 10; }
};

// One watcher does not read: it is ended, the other sees every job.
TEST_F(ApiWatchBytesTest, TheOneFurthestBehindIsEnded) {
  grpc::ClientContext idle_context, reading_context;
  prepare(idle_context);
  prepare(reading_context);
  grpc::ChannelArguments small;  // takes in 64 KiB that nobody reads, not what it could
  small.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto aside = v1::JobService::NewStub(grpc::CreateCustomChannel(
      "127.0.0.1:" + std::to_string(api_->port()), grpc::InsecureChannelCredentials(), small));
  auto idle = aside->WatchJobs(&idle_context, {});
  auto reading = jobs_->WatchJobs(&reading_context, {});
  v1::WatchJobsResponse message;
  for (auto* stream : {idle.get(), reading.get()}) {
    message.Clear();
    while (!message.listed()) ASSERT_TRUE(stream->Read(&message));
  }
  constexpr int kJobs = 2000;  // about 1 KB each: more than both ends of a connection hold
  constexpr int kAtOnce = 50;  // less than may be unread: whoever reads has never so much before it
  std::atomic<int> seen{0};
  std::atomic<bool> over{false};
  std::thread reader([&] {
    v1::WatchJobsResponse row;
    while (seen < kJobs && reading->Read(&row)) ++seen;
    over = true;
  });
  v1::BatchCreateJobsRequest batch;
  for (int i = 0; i < kAtOnce; ++i) {
    auto* one = batch.add_requests();
    *one = job_request("ml", 1, 8);
    one->mutable_job()->set_name(std::string(limits::kMaxNameBytes, 'n'));
  }
  for (int made = kAtOnce; made <= kJobs && !over; made += kAtOnce) {
    v1::BatchCreateJobsResponse out;
    ASSERT_TRUE(run([&](auto* c) { return jobs_->BatchCreateJobs(c, batch, &out); }).ok());
    while (seen < made && !over) std::this_thread::yield();
  }
  reader.join();
  EXPECT_EQ(seen, kJobs);
  while (idle->Read(&message)) {
  }
  const grpc::Status ended = idle->Finish();
  EXPECT_EQ(ended.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_NE(ended.error_message().find("262144 bytes that watchers have not read"),
            std::string::npos)
      << ended.error_message();
  reading_context.TryCancel();
  reading->Finish();
}

// --- refusals in the audit log -------------------------------------------------------------------

TEST(DenialsTest, OneRowPerCallerSubjectAndMinute) {
  api::Denials denials;
  EXPECT_EQ(denials.note({"eve", "ml", "no"}, 0).size(), 1u);
  EXPECT_EQ(denials.note({"eve", "ml", "no"}, 59'999).size(), 0u);
  EXPECT_EQ(denials.note({"eve", "bio", "no"}, 59'999).size(), 1u);
  EXPECT_EQ(denials.note({"mal", "ml", "no"}, 59'999).size(), 1u);
  EXPECT_EQ(denials.note({"eve", "ml", "no"}, 60'000).size(), 1u);
}

TEST(DenialsTest, AFloodIsCounted) {
  api::Denials denials;
  for (std::size_t i = 0; i < limits::kMaxDenialsRemembered; ++i) {
    ASSERT_EQ(denials.note({"eve", "a" + std::to_string(i), "no"}, 0).size(), 1u);
  }
  for (int i = 0; i < 7; ++i) {
    EXPECT_TRUE(denials.note({"eve", "b" + std::to_string(i), "no"}, 1).empty());
  }
  const auto rows = denials.note({"eve", "ml", "no"}, 60'001);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].actor, "");
  EXPECT_NE(rows[0].message.find("7 more calls"), std::string::npos);
  EXPECT_EQ(rows[1].subject, "ml");
}

}  // namespace
}  // namespace subak
