// Marks of Kueue, KAI and Volcano in namespaces that Subak manages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "denied.h"
#include "fixture.h"

namespace subak {
namespace {

using test::container;
using test::decide_text;
using test::expect_denied;
using test::pod;
using test::review_text;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kGpu = "nvidia.com/gpu";
constexpr std::string_view kJob = R"({"group":"batch","version":"v1","kind":"Job"})";

AdmissionConfig with_queues() {
  AdmissionConfig config;
  config.queue_accounts = {{"", "lab-queue", "ml.vision.lab"},
                           {"team-a", "main", "ml.vision"},
                           {"team-b", "main", "ml.speech"},
                           {"", "main", "ml"},
                           {"", "far", "ml.speech"}};
  return config;
}

Decision create(const std::string& metadata, const AdmissionConfig& config = with_queues(),
                const std::string& spec = "") {
  return decide_text(review_text(pod(container(kGpu, "1"), R"("name":"p",)" + metadata, spec)),
                     Endpoint::kMutate, config);
}
std::string labels(const std::string& pairs) { return R"("labels":{)" + pairs + "}"; }
std::string notes(const std::string& pairs) { return R"("annotations":{)" + pairs + "}"; }

Decision own(const std::string& metadata, const std::string& spec = "",
             const AdmissionConfig& config = with_queues()) {
  const std::string job = R"({"metadata":{"name":"j",)" + metadata + R"(},"spec":{"template":)" +
                          pod(container(kGpu, "1"), "") + spec + "}}";
  return decide_text(review_text(job, "team-a", "ana", "CREATE", "null", kJob), Endpoint::kMutate,
                     config);
}

TEST(Marks, AQueueIsAnAccount) {
  for (const char* mark : {R"("labels":{"kueue.x-k8s.io/queue-name":"lab-queue"})",
                           R"("labels":{"kai.scheduler/queue":"lab-queue"})",
                           R"("annotations":{"scheduling.volcano.sh/queue-name":"lab-queue"})"}) {
    const Decision d = create(mark);
    EXPECT_THAT(d.patch, HasSubstr(R"("ml.vision.lab")")) << mark;
    EXPECT_TRUE(d.warnings.empty()) << mark;
  }
}

TEST(Marks, AQueueOfTheNamespaceCountsBeforeOneOfAll) {
  EXPECT_THAT(create(labels(R"("kueue.x-k8s.io/queue-name":"main")")).patch,
              HasSubstr(R"("value":"ml.vision")"));
}

TEST(Marks, AnUnknownQueueIsDeniedWithTheList) {
  const Decision d = create(labels(R"("kueue.x-k8s.io/queue-name":"lost")"));
  expect_denied(d, Because::kInvalidValue, 422,
                R"(metadata.labels[kueue.x-k8s.io/queue-name]: was "lost", want one of lab-queue, )"
                "main");
  EXPECT_THAT(d.message, Not(HasSubstr("team-b")));
}

TEST(Marks, AQueueOutsideTheNamespacesAccountIsDenied) {
  expect_denied(create(labels(R"("kueue.x-k8s.io/queue-name":"far")")), Because::kInvalidValue, 422,
                R"("ml.speech")");
}

TEST(Marks, WithoutATableQueuesNameNoAccounts) {
  const Decision d = create(labels(R"("kueue.x-k8s.io/queue-name":"lost")"), AdmissionConfig());
  EXPECT_EQ(d.verdict, Verdict::kPatched);
  ASSERT_EQ(d.warnings.size(), 1U);
  EXPECT_THAT(d.warnings[0], HasSubstr("belongs to another queue manager"));
}

TEST(Marks, ATableOfOtherNamespacesChangesNothing) {
  AdmissionConfig config;
  config.queue_accounts = {{"team-b", "main", "ml.speech"}};
  const Decision d = create(labels(R"("kueue.x-k8s.io/queue-name":"main")"), config);
  EXPECT_EQ(d.verdict, Verdict::kPatched);
  EXPECT_THAT(d.patch, HasSubstr(R"("value":"ml.vision")"));
}

TEST(Marks, OurKeysCountBeforeTheirs) {
  const Decision d =
      create(labels(R"("subak.gpu/account":"ml.vision","kueue.x-k8s.io/queue-name":"lost")") + "," +
             notes(R"("subak.gpu/topology":"node","subak.gpu/time-limit":"1h",)"
                   R"("kueue.x-k8s.io/podset-required-topology":"example.com/rack")"));
  EXPECT_EQ(d.verdict, Verdict::kPatched);
  EXPECT_THAT(d.patch, Not(HasSubstr("rack")));
}

TEST(Marks, SecondsAreTheTimeLimit) {
  EXPECT_THAT(create(labels(R"("kueue.x-k8s.io/max-exec-time-seconds":"5400")")).patch,
              HasSubstr(R"("subak.gpu/time-limit":"1h30m")"));
  for (const char* value : {"0", "-1", "1h", "", "99999999999999999999"}) {
    expect_denied(
        create(labels(R"("kueue.x-k8s.io/max-exec-time-seconds":")" + std::string(value) + "\"")),
        Because::kInvalidValue, 422, "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]");
  }
}

TEST(Marks, LevelsOfATopology) {
  const auto patch = [](const std::string& kind, const std::string& level) {
    return create(notes(R"("kueue.x-k8s.io/podset-)" + kind + R"(-topology":")" + level + "\""))
        .patch;
  };
  EXPECT_THAT(patch("required", "kubernetes.io/hostname"), HasSubstr(R"("value":"node")"));
  EXPECT_THAT(patch("preferred", "cloud.example.com/topology-rack"),
              HasSubstr(R"("value":"prefer:rack")"));
  EXPECT_THAT(patch("required", "nvidia.com/gpu.clique"), HasSubstr(R"("value":"nvlink")"));
  const Decision d =
      create(notes(R"("kueue.x-k8s.io/podset-required-topology":"example.com/block")"));
  EXPECT_THAT(d.patch, Not(HasSubstr("topology")));
  ASSERT_EQ(d.warnings.size(), 1U);
  EXPECT_THAT(d.warnings[0], HasSubstr("example.com/block"));
}

TEST(Marks, ALevelIsJudgedAsOurKeyIs) {
  const std::string slice =
      pod(container("nvidia.com/mig-1g.10gb", "1"),
          R"("name":"p",)" + notes(R"("kueue.x-k8s.io/podset-required-topology":"a/rack")"));
  expect_denied(decide_text(review_text(slice)), Because::kMigTopology, 422, "MIG slices");
}

TEST(Marks, AClassOfKueueIsOneOfOurs) {
  const auto review =
      review_text(pod(container(kGpu, "1"),
                      R"("name":"p",)" + labels(R"("kueue.x-k8s.io/priority-class":"prod")")));
  const auto decide_with = [&](std::vector<PriorityClass> classes) {
    View view = *test::fixed_view();
    view.policy.priority_classes = std::move(classes);
    const test::Parsed parsed(review);
    return decide(view, AdmissionConfig(), "c1", Endpoint::kMutate, parsed.review());
  };
  EXPECT_THAT(decide_with({{"prod", 1000, false, {}}}).patch,
              HasSubstr(R"("subak.gpu/priority":"prod")"));
  expect_denied(decide_with({{"batch", 0, false, {}}}), Because::kInvalidValue, 422,
                "metadata.labels[kueue.x-k8s.io/priority-class]");
  const Decision none = decide_with({});
  EXPECT_EQ(none.verdict, Verdict::kPatched);
  EXPECT_THAT(none.patch, Not(HasSubstr("subak.gpu/priority")));
  EXPECT_THAT(none.warnings.front(), HasSubstr("no priority classes"));
}

TEST(Marks, AJobOfKueueIsResumedBySubakAtItsTurn) {
  const std::string queue = labels(R"("kueue.x-k8s.io/queue-name":"lab-queue",)"
                                   R"("kueue.x-k8s.io/max-exec-time-seconds":"60")");
  const Decision suspended = own(queue, R"(,"suspend":true)");
  EXPECT_EQ(suspended.because, Because::kSuspended);
  EXPECT_THAT(suspended.patch, HasSubstr(R"({"subak.gpu/suspended":"parked"})"));
  EXPECT_THAT(suspended.patch, Not(HasSubstr("/spec/suspend")));
  EXPECT_THAT(suspended.patch,
              HasSubstr(R"("path":"/spec/template/metadata/annotations","value":)"
                        R"({"subak.gpu/account":"ml.vision.lab","subak.gpu/time-limit":"1m"})"));
  EXPECT_THAT(own(queue).patch, HasSubstr(R"("path":"/spec/suspend")"));
  const Decision by_user = own(notes(R"("a":"b")"), R"(,"suspend":true)");
  EXPECT_EQ(by_user.because, Because::kUnchanged) << "its user suspended it";
  expect_denied(own(labels(R"("kueue.x-k8s.io/queue-name":"lost")")), Because::kInvalidValue, 422,
                "metadata.labels[kueue.x-k8s.io/queue-name]");
}

// Kueue reads the topology of the pods from their template. The parked job and its pods must agree.
TEST(Marks, AJobTakesTheMarksOfItsTemplate) {
  const auto of_template = [](const std::string& metadata) {
    const std::string job =
        R"({"metadata":{"name":"j",)" +
        notes(R"("kueue.x-k8s.io/podset-preferred-topology":"kubernetes.io/hostname")") +
        R"(},"spec":{"template":)" + pod(container(kGpu, "1"), metadata) + "}}";
    return decide_text(review_text(job, "team-a", "ana", "CREATE", "null", kJob), Endpoint::kMutate,
                       with_queues());
  };
  const std::string rack = R"("kueue.x-k8s.io/podset-required-topology":"example.com/rack")";
  EXPECT_THAT(of_template(notes(rack)).patch, HasSubstr(R"(subak.gpu~1topology","value":"rack")"));
  EXPECT_THAT(of_template(notes(rack + R"(,"subak.gpu/topology":"nvlink")")).patch,
              Not(HasSubstr("subak.gpu~1topology")))
      << "its own key counts";
  EXPECT_THAT(of_template("").patch, HasSubstr(R"("subak.gpu/topology":"prefer:node")"));
  expect_denied(of_template(labels(R"("kueue.x-k8s.io/queue-name":"lost")")),
                Because::kInvalidValue, 422,
                "spec.template.metadata.labels[kueue.x-k8s.io/queue-name]");
}

TEST(Marks, PartsOfAGpuByKaisAnnotationsAreRefusedByName) {
  const auto of = [](const std::string& metadata, const std::string& spec = "") {
    return decide_text(review_text(pod(container("cpu", "1"), R"("name":"p",)" + metadata, spec)));
  };
  for (const char* key : {"gpu-fraction", "gpu-memory"}) {
    const std::string mark = notes("\"" + std::string(key) + R"(":"0.5")");
    expect_denied(of(mark + "," + labels(R"("kai.scheduler/queue":"q")")), Because::kInvalidValue,
                  422, "metadata.annotations[" + std::string(key) + "]");
    expect_denied(of(mark, R"(,"schedulerName":"kai-scheduler")"), Because::kInvalidValue, 422,
                  "nvidia.com/gpu.shared");
    EXPECT_EQ(of(mark).because, Because::kNoGpu) << "the name may be somebody else's";
  }
}

// A PodGroup states the size, and the edge reads it.
TEST(Marks, AGroupWithAPodGroupNeedsNoSize) {
  for (const std::string meta : {R"("labels":{"scheduling.x-k8s.io/pod-group":"g"})",
                                 R"("annotations":{"scheduling.k8s.io/group-name":"g"})",
                                 R"("annotations":{"pod-group-name":"g"})"}) {
    const Decision d = create(meta);
    EXPECT_EQ(enum_name(d.because), "gated") << meta;
    EXPECT_TRUE(d.warnings.empty()) << meta;
  }
}

}  // namespace
}  // namespace subak
