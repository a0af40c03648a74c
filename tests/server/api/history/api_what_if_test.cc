// PolicyService.WhatIf over gRPC, and the desk that runs one such call at a time.
#include <gmock/gmock.h>

#include <optional>
#include <string>

#include "core/duration.h"
#include "server/api/streams/desk.h"
#include "subak/v1/policy_service.grpc.pb.h"
#include "tests/server/api/api_fixture.h"

namespace subak {
namespace {

using ::testing::HasSubstr;

class ApiWhatIfTest : public ApiTest {
 protected:
  // What a call returned.
  struct Answer {
    grpc::Status status;
    std::optional<v1::WhatIfReport> report;
    int steps = 0;
  };
  // A fleet of 8 GPUs: one job holds them, and one waits.
  void live() {
    start();
    ASSERT_TRUE(create_account("ml").ok());
    ASSERT_TRUE(import_nodes(1).ok());
    submit(job_request("ml", 1, 8));
    move_clock(10 * kSecondMs);
    submit(job_request("ml", 1, 8));
    move_clock(10 * kSecondMs);
  }
  Answer what_if(const v1::WhatIfRequest& request) {
    Answer out;
    const auto stub = v1::PolicyService::NewStub(channel_);
    grpc::ClientContext context;
    prepare(context);
    const auto reader = stub->WhatIf(&context, request);
    v1::WhatIfResponse message;
    while (reader->Read(&message)) {
      EXPECT_FALSE(out.report) << "the report comes last";
      ++out.steps;
      if (message.has_report()) out.report = message.report();
    }
    out.status = reader->Finish();
    return out;
  }
};

TEST_F(ApiWhatIfTest, ComparesTheHistoryAndTheQueue) {
  live();
  v1::WhatIfRequest request;
  const Answer same = what_if(request);
  ASSERT_TRUE(same.status.ok()) << same.status.error_message();
  ASSERT_TRUE(same.report);
  EXPECT_GT(same.steps, 1);
  EXPECT_EQ(same.report->jobs(), 2);
  EXPECT_EQ(same.report->unchanged().SerializeAsString(),
            same.report->changed().SerializeAsString());
  EXPECT_EQ(same.report->present().waiting(), 1);
  EXPECT_EQ(same.report->present().sooner(), 0);

  v1::WhatIfNodes& nodes = *request.add_nodes();
  nodes.set_like("n0");
  nodes.set_count(1);
  const Answer more = what_if(request);
  ASSERT_TRUE(more.report) << more.status.error_message();
  EXPECT_DOUBLE_EQ(more.report->unchanged().installed_gpus(), 8);
  EXPECT_DOUBLE_EQ(more.report->changed().installed_gpus(), 16);
  EXPECT_EQ(more.report->present().sooner(), 1);
}

TEST_F(ApiWhatIfTest, NamesTheLineThatIsWrong) {
  live();
  v1::WhatIfRequest request;
  request.add_load()->set_times_milli(500);
  request.add_nodes()->set_remove("n7");
  const Answer answer = what_if(request);
  EXPECT_FALSE(answer.status.ok());
  EXPECT_FALSE(answer.report);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("n7"));
  EXPECT_THAT(answer.status.error_message(), HasSubstr("nodes"));
}

TEST_F(ApiWhatIfTest, ACallThatIsCancelledFreesTheDesk) {
  live();
  const auto stub = v1::PolicyService::NewStub(channel_);
  for (int i = 0; i < 5; ++i) {
    grpc::ClientContext context;
    prepare(context);
    const auto reader = stub->WhatIf(&context, v1::WhatIfRequest());
    context.TryCancel();
    reader->Finish();
  }
  Answer answer;
  do {  // the work of a cancelled call may still run
    answer = what_if(v1::WhatIfRequest());
  } while (answer.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_TRUE(answer.report);
}

TEST(Desk, RunsTheWorkOfOneCaller) {
  api::Desk desk;
  EXPECT_EQ(desk.begin("ana"), std::nullopt);
  EXPECT_EQ(desk.begin("bo"), "ana");
  bool ran = false;
  desk.run([&] {
    ran = true;
    desk.end();
  });
  desk.stop();  // waits for the work
  EXPECT_TRUE(ran);
  EXPECT_EQ(desk.begin("bo"), "");
}

TEST(Desk, IsFreeAfterEachWork) {
  api::Desk desk;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(desk.begin("ana"), std::nullopt);
    desk.end();
  }
}

}  // namespace
}  // namespace subak
