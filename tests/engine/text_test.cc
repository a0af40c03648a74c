#include <gtest/gtest.h>

#include "model/fact.h"
#include "model/input.h"

namespace subak {
namespace {

TEST(InputText, RoundTripsAWholeSubmission) {
  const std::string line =
      "@1000 submit_job request_id=r-1 actor=token:ci cluster=main account=ml.vision user=ana "
      "name=\"train \\\"v2\\\"\\n\" request={groups=[{count=4 shape={kind=whole gpus=8 "
      "products=[NVIDIA-H100-80GB-HBM3] node_selector=[{key=zone value=\"a b\"}]}}] "
      "topology=nvlink "
      "segment=2} priority=-5 time_limit_ms=3600000";
  const auto input = input_from_text(line);
  ASSERT_TRUE(input.ok()) << input.error().message();
  const auto& submit = std::get<in::SubmitJob>(input->body);
  EXPECT_EQ(submit.name, "train \"v2\"\n");
  EXPECT_EQ(submit.request.groups[0].shape.node_selector[0].value, "a b");
  EXPECT_EQ(submit.priority, -5);
  EXPECT_EQ(input_to_text(*input), line);
}

TEST(InputText, NamesTheMistake) {
  struct Case {
    const char* line;
    const char* message;
  };
  for (const Case& c : {
           Case{"submit_job", "line: was \"submit_job\", want @<milliseconds>"},
           Case{"@5 fly", "line: was \"fly\", is not a known kind"},
           Case{"@5 cancel_job job=x", "job: was \"x\", want a job id such as 1-42"},
           Case{"@5 cancel_job jab=1-1", "jab: is not a field of this record"},
           Case{"@5 set_cluster name=a mode=loud", "mode: was \"loud\", is not one of its values"},
           Case{"@5 hold_job job=1-1 held=maybe", "held: was \"maybe\", want true or false"},
           Case{"@5 set_cluster name=\"open", "name: was \"open\", want a closing quote"},
       }) {
    const auto input = input_from_text(c.line);
    ASSERT_FALSE(input.ok()) << c.line;
    EXPECT_EQ(input.error().message(), c.message);
  }
}

TEST(FactText, KeepsExactNumbersAndAnUnreadyNode) {
  Fact fact;
  fact.seq = 12;
  fact.time_ms = 99;
  fact::NodeSet set;
  set.id = NodeId(7);
  set.cluster = ClusterId(2);
  set.spec.name = "n1";
  set.spec.ready = false;
  fact.body = set;
  const std::string line = fact_to_text(fact);
  EXPECT_EQ(line, "#12 @99 node_set id=7 cluster=2 spec={name=n1 not_ready=true}");
  const auto again = fact_from_text(line);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(std::get<fact::NodeSet>(again->body).spec.ready);

  fact::MetersSnapshot meters;
  meters.account = AccountId(3);
  meters.usage.a = 0.1 + 0.2;
  fact.body = meters;
  const auto exact = fact_from_text(fact_to_text(fact));
  ASSERT_TRUE(exact.ok());
  EXPECT_EQ(std::get<fact::MetersSnapshot>(exact->body).usage.a, 0.1 + 0.2);
}

TEST(FactText, ZeroSurvivesWhereTheDefaultIsNotZero) {
  Fact fact;
  fact::AccountSet set;
  set.spec.path = "a";
  set.spec.shares = 0;
  fact.body = set;
  const auto again = fact_from_text(fact_to_text(fact));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(std::get<fact::AccountSet>(again->body).spec.shares, 0);

  fact::PolicySet policy;
  policy.policy.patience_ms = 0;
  fact.body = policy;
  const auto never = fact_from_text(fact_to_text(fact));
  ASSERT_TRUE(never.ok());
  EXPECT_EQ(std::get<fact::PolicySet>(never->body).policy, policy.policy);
}

}  // namespace
}  // namespace subak
