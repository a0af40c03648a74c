// Who made a pod: the creator of its topmost owner, as the API server wrote it down.
#include <gtest/gtest.h>

#include <string>

#include "tests/server/edge/kube_seen.h"

namespace subak {
namespace {

constexpr const char* kCronJobs = "/apis/batch/v1/cronjobs";
constexpr const char* kReplicaSets = "/apis/apps/v1/replicasets";
constexpr const char* kDeployments = "/apis/apps/v1/deployments";
constexpr const char* kController = "system:serviceaccount:kube-system:some-controller";

std::string made_by(const std::string& user) {
  return user.empty() ? "" : R"(,"annotations":{"subak.gpu/created-by":")" + user + "\"}";
}

class Makers : public Kube {
 protected:
  void see_made(const std::string& uid, const std::string& by, const char* collection,
                const std::string& owner = "", WatchKind kind = WatchKind::kModified) {
    WatchEvent event;
    event.kind = kind;
    event.object = own_parser_.parse(R"({"metadata":{"uid":")" + uid +
                                     R"(","namespace":"a","name":"o","resourceVersion":"5")" +
                                     owner + made_by(by) + R"(},"spec":{"parallelism":1}})");
    cache.see_owner(event, collection);
  }
  static std::string below(const std::string& kind, const std::string& uid) {
    return R"(,"ownerReferences":[{"controller":true,"kind":")" + kind + R"(","apiVersion":")" +
           (kind == "CronJob" || kind == "Job" ? "batch/v1" : "apps/v1") +
           R"(","name":"o","uid":")" + uid + "\"}]";
  }
  // A pod that a controller made of a template that names eve; `owner`: below().
  std::string pod(const std::string& uid, const std::string& by, const std::string& owner,
                  bool gated = true) {
    PodText text{uid};
    text.gated = gated;
    text.meta = owner + R"(,"labels":{"subak.gpu/user":"eve"})" + made_by(by);
    return text_of(text);
  }
  // The user of the next record that the core gets; "-": it gets none.
  std::string user() {
    const auto record = next_record();
    return record ? record->user : "-";
  }
  std::optional<PodRecord> next_record() {
    std::optional<PodRecord> out;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (const auto* seen = std::get_if<in::PodSeen>(&news->body)) out = seen->pod;
      cache.outbox().answered(news->uid);
    }
    return out;
  }
  // "Deployment o D": the workload of the next record; "-": it has none.
  std::string workload() {
    const auto record = next_record();
    if (!record || record->owners.workload.uid.empty()) return "-";
    return record->owners.workload.kind + " " + record->owners.workload.name + " " +
           record->owners.workload.uid;
  }
  std::string workload_of(const std::string& owner) {
    see_text(pod(std::to_string(++pods_), kController, owner));
    return workload();
  }
  std::string user_of(const std::string& by, const std::string& owner) {
    see_text(pod(std::to_string(++pods_), by, owner));
    return user();
  }
  int pods_ = 0;
  simdjson::dom::parser own_parser_;
};

TEST_F(Makers, APodOfAPersonIsThatPersons) {
  EXPECT_EQ(user_of("ana", ""), "ana");
  EXPECT_EQ(user_of("https://id.example.com#ana", ""), "https---id.example.com-ana");
}

TEST_F(Makers, ATemplateNamesNobody) {
  see_made("J", "bob", kJobsPath);
  EXPECT_EQ(user_of(kController, below("Job", "J")), "bob");
  see_made("K", "", kJobsPath);
  EXPECT_EQ(user_of(kController, below("Job", "K")), "") << "an owner of before, without a stamp";
  EXPECT_EQ(user_of("", below("Job", "J")), "") << "a pod without a stamp";
  EXPECT_EQ(user_of(kController, ""), "") << "a controller without an owner";
}

TEST_F(Makers, TheTopmostOwnerCounts) {
  see_made("C", "cora", kCronJobs);
  see_made("J", kController, kJobsPath, below("CronJob", "C"));
  EXPECT_EQ(user_of(kController, below("Job", "J")), "cora");
  see_made("D", "dan", kDeployments);
  see_made("R", kController, kReplicaSets, below("Deployment", "D"));
  EXPECT_EQ(user_of(kController, below("ReplicaSet", "R")), "dan");
}

// Who names an owner of somebody else in a Job or pod of his own pays himself.
TEST_F(Makers, AForeignOwnerPaysForNobody) {
  see_made("C", "cora", kCronJobs);
  see_made("J", "mallory", kJobsPath, below("CronJob", "C"));
  EXPECT_EQ(user_of(kController, below("Job", "J")), "mallory");
  EXPECT_EQ(user_of("mallory", below("CronJob", "C")), "mallory");
  EXPECT_EQ(user_of("system:serviceaccount:a:robot", below("CronJob", "C")), "")
      << "users of the namespace have its service accounts";
  EXPECT_EQ(user_of("system:serviceaccount:ab:robot", below("CronJob", "C")), "cora");
}

TEST_F(Makers, AGatedPodWaitsForItsOwnersOwner) {
  cache.owners().begin(kReplicaSets);
  cache.owners().begin(kDeployments);
  cache.complete_owners(kReplicaSets);
  cache.complete_owners(kDeployments);
  see_text(pod("1", kController, below("ReplicaSet", "R")));
  EXPECT_EQ(user(), "-") << "the ReplicaSet comes soon";
  see_made("R", kController, kReplicaSets, below("Deployment", "D"));
  EXPECT_EQ(user(), "-") << "and so does the Deployment";
  see_made("D", "dan", kDeployments);
  EXPECT_EQ(user(), "dan");
  see_text(pod("2", kController, below("ReplicaSet", "lost")));
  monotonic += limits::kOwnerMs;
  cache.adopt_orphans(monotonic);
  EXPECT_EQ(user(), "") << "it does not wait for ever";
  see_text(pod("3", kController, below("ReplicaSet", "lost"), false));
  EXPECT_EQ(user(), "") << "a pod that runs is charged at once";
}

TEST_F(Makers, ACircleOfOwnersEnds) {
  see_made("A", kController, kDeployments, below("Deployment", "B"));
  see_made("B", kController, kDeployments, below("Deployment", "A"));
  EXPECT_EQ(user_of(kController, below("Deployment", "A")), "");
  see_made("A", "ana", kDeployments, "", WatchKind::kDeleted);
  EXPECT_EQ(user_of(kController, below("Deployment", "A")), "");
}

TEST_F(Makers, TheTopmostKnownOwnerIsTheWorkload) {
  EXPECT_EQ(workload_of(""), "-") << "a bare pod";
  EXPECT_EQ(workload_of(below("StatefulSet", "S")), "StatefulSet o S") << "from the pod alone";
  see_made("R1", kController, kReplicaSets, below("Deployment", "D"));
  see_made("R2", kController, kReplicaSets, below("Deployment", "D"));
  EXPECT_EQ(workload_of(below("ReplicaSet", "R1")), "Deployment o D");
  EXPECT_EQ(workload_of(below("ReplicaSet", "R2")), "Deployment o D") << "another release";
  see_made("D", kController, kDeployments, below("Model", "M"));
  EXPECT_EQ(workload_of(below("ReplicaSet", "R1")), "Deployment o D") << "Subak knows no Model";
  EXPECT_EQ(workload_of(below("Model", "M")), "Model o M") << "it makes the pods itself";
}

TEST_F(Makers, AJobOfOnePodIsNoWorkload) {
  see_made("C", "cora", kCronJobs);
  see_made("J", kController, kJobsPath, below("CronJob", "C"));
  EXPECT_EQ(workload_of(below("Job", "J")), "-");
  WatchEvent event;
  event.kind = WatchKind::kModified;
  const std::string text =
      R"({"metadata":{"uid":"K","namespace":"a","name":"many","resourceVersion":"5"},)"
      R"("spec":{"parallelism":4}})";
  event.object = own_parser_.parse(text);
  cache.see_owner(event, kJobsPath);
  EXPECT_EQ(workload_of(below("Job", "K")), "Job o K") << "its pods start one by one";
}

TEST_F(Makers, ACircleHasAWorkload) {
  see_made("A", kController, kDeployments, below("Deployment", "B"));
  see_made("B", kController, kDeployments, below("Deployment", "A"));
  EXPECT_EQ(workload_of(below("Deployment", "A")).substr(0, 13), "Deployment o ");
}

}  // namespace
}  // namespace subak
