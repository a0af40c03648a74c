// Owners that wait suspended until their turn: what the core gets to know, and what the edge
// writes.
#include <gmock/gmock.h>

#include "core/limits.h"
#include "tests/server/edge/kube_seen.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kTemplate =
    R"({"metadata":{"labels":{"subak.gpu/user":"ana"}},"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"8"}}}]}})";

class Parked : public Kube {
 protected:
  // A Job of `pods` pods. `indexed`: they start together.
  void see_parked(const std::string& uid, int pods, bool suspended = true,
                  const std::string& mark = "parked", bool indexed = true,
                  const std::string& made = kTemplate) {
    const std::string n = std::to_string(pods);
    see_job_text(uid, mark,
                 R"("parallelism":)" + n + R"(,"completions":)" + n +
                     (indexed ? R"(,"completionMode":"Indexed")" : "") + R"(,"suspend":)" +
                     (suspended ? "true" : "false") + R"(,"template":)" + made);
  }
  void see_job_text(const std::string& uid, const std::string& mark, const std::string& spec,
                    WatchKind what = WatchKind::kModified, const std::string& path = kJobsPath) {
    // The maker counts, and not the user whom the template names.
    const std::string notes = R"(,"annotations":{"subak.gpu/created-by":"ana")" +
                              (mark.empty() ? "" : R"(,"subak.gpu/suspended":")" + mark + '"') +
                              "}";
    WatchEvent event;
    event.kind = what;
    event.object = objects_.parse(R"({"metadata":{"uid":")" + uid +
                                  R"(","namespace":"a","name":"train","resourceVersion":"5",)" +
                                  R"("creationTimestamp":"2026-01-01T00:00:00Z")" + notes +
                                  R"(},"spec":{)" + spec + "}}");
    cache.see_owner(event, path);
  }
  void turn_of(std::uint32_t job, const std::string& uid, EffectKind kind = EffectKind::kOpenGate) {
    want(kind, job, {}, kind == EffectKind::kEvict ? Cause::kCancelled : Cause::kNone);
    jobs[JobId(ClusterId(1), job)].effect.owner = uid;
  }
  // "parked J 2x8 of a/train", "resumed J".
  std::vector<std::string> said() {
    std::vector<std::string> out;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (const auto* const seen = std::get_if<in::OwnerSeen>(&news->body)) {
        std::string text = std::string(enum_name(seen->state)) + " " + seen->pod.owner;
        for (const PodGroup& group : seen->groups)
          text += " " + std::to_string(group.count) + "x" + std::to_string(group.shape.gpus);
        if (!seen->pod.gang.empty()) text += " of " + seen->pod.ns + "/" + seen->pod.gang;
        if (!seen->pod.user.empty()) text += " for " + seen->pod.user;
        if (const Workload& of = seen->pod.owners.workload; !of.uid.empty())
          text += " in " + of.kind + " " + of.name;
        out.push_back(text);
      }
      cache.outbox().answered(news->uid);
    }
    return out;
  }

 private:
  simdjson::dom::parser objects_;
};

TEST_F(Parked, TheCoreGetsThePodsOfItsTemplate) {
  see_parked("J", 2);
  EXPECT_THAT(said(), ElementsAre("parked J 2x8 of a/train for ana"));
  see_parked("J", 2);
  EXPECT_THAT(said(), IsEmpty()) << "nothing has changed";
  see_parked("J", 3);
  EXPECT_THAT(said(), ElementsAre("parked J 3x8 of a/train for ana"));
  see_parked("K", 4, true, "parked", false);
  EXPECT_THAT(said(), ElementsAre("parked K 1x8 for ana in Job train"))
      << "each of its pods starts by itself";
  EXPECT_THAT(plan(), IsEmpty()) << "both wait";
}

TEST_F(Parked, IsResumedAtItsTurn) {
  see_parked("J", 2);
  said();
  turn_of(1, "J");
  EXPECT_THAT(plan(), ElementsAre("resume J"));
  EXPECT_EQ(last.writes[0].job, JobId(ClusterId(1), 1));
  EXPECT_THAT(last.settled, IsEmpty()) << "its pods must come";
  attempts["J"].under_way = true;
  EXPECT_THAT(plan(), IsEmpty());
  attempts.clear();
  see_parked("J", 2, false, "");
  EXPECT_THAT(said(), ElementsAre("resumed J"));
  EXPECT_THAT(plan(), IsEmpty());
}

// A plan of writes reads the restless owners, so its time does not grow with the parked ones.
TEST_F(Parked, ThoseThatMayWaitAreNotRestless) {
  see_parked("J", 2);
  see_parked("K", 2);
  see_parked("L", 2, true, "taken-back");
  EXPECT_THAT(cache.owners().marked(), ElementsAre("J", "K", "L"));
  EXPECT_THAT(cache.owners().restless(), ElementsAre("L"));
  see_parked("J", 2, false);
  EXPECT_THAT(cache.owners().restless(), ElementsAre("J", "L")) << "a mark, but not suspended";
  see_parked("J", 2);
  see_parked("L", 2, true, "");
  EXPECT_THAT(cache.owners().restless(), IsEmpty());
  see_parked("K", 2, true, "cancelled");
  EXPECT_THAT(cache.owners().restless(), ElementsAre("K"));
  see_job_text("K", "cancelled", "", WatchKind::kDeleted);
  EXPECT_THAT(cache.owners().restless(), IsEmpty());
  cache.owners().parked().resume("J", "a test");
  EXPECT_THAT(plan(), ElementsAre("resume J")) << "it may wait, but it must not";
}

TEST_F(Parked, AHoldThatHasEndedResumesNobody) {
  see_parked("J", 2);
  turn_of(1, "J");
  EXPECT_THAT(plan(100, kNow + 1000), IsEmpty());
}

TEST_F(Parked, OneThatItsUserSuspendedIsNotOurs) {
  see_parked("J", 2, true, "");
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_THAT(plan(), IsEmpty());
  turn_of(1, "J");
  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(Parked, OneThatOthersResumeLosesTheMark) {
  see_parked("J", 2);
  said();
  see_parked("J", 2, false);
  EXPECT_THAT(said(), ElementsAre("resumed J"));
  EXPECT_THAT(plan(), ElementsAre("resume J"));
  EXPECT_FALSE(last.writes[0].job) << "it is not its turn";
  EXPECT_EQ(last.writes[0].why, "its user or its controller resumed it");
  see_parked("J", 2, false, "");
  EXPECT_THAT(plan(), IsEmpty());
  see_parked("J", 2, true, "");
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_THAT(plan(), IsEmpty()) << "its user suspended it";
}

TEST_F(Parked, OneThatIsDeletedOrSuspendedByItsUserIsGone) {
  see_parked("J", 2);
  see_parked("K", 2);
  said();
  see_job_text("J", "parked", "", WatchKind::kDeleted);
  see_parked("K", 2, true, "cancelled");
  EXPECT_THAT(said(), ElementsAre("gone J", "gone K"));
}

TEST_F(Parked, TheOwnerOfACancelledJobStaysSuspended) {
  see_parked("J", 2);
  said();
  turn_of(1, "J", EffectKind::kEvict);
  EXPECT_THAT(plan(), ElementsAre("suspend J"));
  EXPECT_EQ(last.writes[0].cause, Cause::kCancelled);
  see_parked("J", 2, true, "cancelled");
  EXPECT_THAT(said(), ElementsAre("gone J"));
  EXPECT_THAT(plan(), IsEmpty());
}

// Such an owner goes back to gates at once.
TEST_F(Parked, OneWhosePodsAreNotKnownIsResumed) {
  see_parked("J", 2, true, "parked", true,
             R"({"spec":{"resourceClaims":[{"name":"g","resourceClaimTemplateName":"t"}],)"
             R"("containers":[{"name":"c","resources":{"claims":[{"name":"g"}]}}]}})");
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_THAT(plan(), ElementsAre("resume J"));
  see_parked("J", 2, true, "parked", true,
             R"({"metadata":{"labels":{"subak.gpu/job":"g"}},"spec":{"containers":[{"name":"c",)"
             R"("resources":{"limits":{"nvidia.com/gpu":"8"}}}]}})");
  EXPECT_THAT(said(), IsEmpty()) << "pods of other owners may be in its gang";
  EXPECT_THAT(plan(), ElementsAre("resume J"));
}

TEST_F(Parked, AControllerThatIgnoresTheSuspensionIsFound) {
  see_parked("J", 2);
  said();
  see({"1", 1, true, "", "J"});
  const auto has_pods = [this](const std::string& uid) { return cache.pods_of(uid).pods > 0; };
  ParkedOwners& parked = cache.owners().parked();
  EXPECT_FALSE(parked.resume_ignored(monotonic + limits::kIgnoredSuspendMs - 1, has_pods));
  EXPECT_THAT(plan(), IsEmpty());
  EXPECT_TRUE(parked.resume_ignored(monotonic + limits::kIgnoredSuspendMs, has_pods));
  EXPECT_THAT(plan(), ElementsAre("resume J"));
  EXPECT_EQ(last.writes[0].why, "its controller created pods although it is suspended");
  see_parked("J", 2, false, "");
  EXPECT_EQ(parked.must_resume("J"), nullptr) << "it is over";
}

TEST_F(Parked, PodsThatEndInTimeAreNoSign) {
  see_parked("J", 2);
  said();
  see({"1", 1, true, "", "J"});
  see({"1", 2, true, "", "J"}, WatchKind::kDeleted);
  const auto has_pods = [this](const std::string& uid) { return cache.pods_of(uid).pods > 0; };
  EXPECT_FALSE(cache.owners().parked().resume_ignored(monotonic + kMinuteMs, has_pods));
}

// Whoever restores mark and suspension again and again costs three writes, and no more.
TEST_F(Parked, OneThatFlipsIsGivenUp) {
  int writes = 0;
  for (int flip = 0; flip < 20; ++flip) {
    see_parked("J", 2);
    writes += static_cast<int>(plan().size());
    see_parked("J", 2, false);
    writes += static_cast<int>(plan().size());
  }
  EXPECT_EQ(writes, static_cast<int>(limits::kMaxParkings));
  EXPECT_THAT(cache.owners().parked().take_given_up(), ElementsAre("J"));
  EXPECT_THAT(cache.owners().parked().take_given_up(), IsEmpty()) << "it is said once";
  said();
  see_parked("J", 2);
  EXPECT_THAT(said(), IsEmpty());
  turn_of(1, "J");
  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(Parked, ANewSessionTellsThemAgain) {
  see_parked("J", 2);
  said();
  cache.forget_told();
  EXPECT_THAT(said(), IsEmpty());
  see_parked("J", 2);
  EXPECT_THAT(said(), ElementsAre("parked J 2x8 of a/train for ana"));
  cache.tell_again("J");
  EXPECT_THAT(said(), ElementsAre("parked J 2x8 of a/train for ana")) << "the core refused it";
}

TEST_F(Parked, ASetAndAnOperatorsJobAreGangs) {
  const std::string workers =
      R"("replicatedJobs":[{"name":"w","replicas":2,"template":{"spec":{"parallelism":2,"template":)" +
      std::string(kTemplate) + "}}}]";
  see_job_text("S", "parked", R"("suspend":true,)" + workers, WatchKind::kModified, kJobSetsPath);
  EXPECT_THAT(said(), ElementsAre("parked S 4x8 of a/train for ana"));
  const std::string path = collection_of(row_of(OwnerKind::kPyTorchJob), "v1");
  const std::string replicas = R"("runPolicy":{"suspend":true},"pytorchReplicaSpecs":{)"
                               R"("Master":{"replicas":1,"template":)" +
                               std::string(kTemplate) + R"(},"Worker":{"replicas":3,"template":)" +
                               kTemplate + "}}";
  see_job_text("T", "parked", replicas, WatchKind::kModified, path);
  EXPECT_THAT(said(), ElementsAre("parked T 1x8 3x8 of a/train for ana"));
  see_job_text("S", "parked",
               R"("suspend":true,"startupPolicy":{"startupPolicyOrder":"InOrder"},)" + workers,
               WatchKind::kModified, kJobSetsPath);
  EXPECT_THAT(said(), ElementsAre("gone S")) << "its jobs are several gangs";
  EXPECT_THAT(plan(), ElementsAre("resume S"));
}

// The owners that create no pods themselves: the gang has the uid of the upper owner.
class ParkedAbove : public Parked {
 protected:
  static std::string path_of(OwnerKind kind) {
    return collection_of(row_of(kind), row_of(kind).versions.front());
  }
  void list(OwnerKind kind) {
    cache.owners().begin(path_of(kind));
    cache.complete_owners(path_of(kind));
  }
  void see_above(OwnerKind kind, const std::string& uid, bool parked,
                 const std::string& spec = "") {
    see_job_text(uid, parked ? "parked" : "",
                 R"("suspend":)" + std::string(parked ? "true" : "false") + spec,
                 WatchKind::kModified, path_of(kind));
  }
  void see_below(OwnerKind kind, const std::string& uid, const std::string& above,
                 const std::string& spec, WatchKind what = WatchKind::kModified) {
    WatchEvent event;
    event.kind = what;
    event.object = below_.parse(
        R"({"metadata":{"uid":")" + uid + R"(","namespace":"a","name":"train",)" +
        R"("creationTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[{"controller":true,)" +
        above + R"(}]},"spec":{)" + spec + "}}");
    cache.see_owner(event, path_of(kind));
  }
  void see_set(bool suspended, const std::string& more = "",
               WatchKind what = WatchKind::kModified) {
    see_below(OwnerKind::kJobSet, "S",
              R"("apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","uid":"T")",
              R"("suspend":)" + std::string(suspended ? "true" : "false") + more +
                  R"(,"replicatedJobs":[{"name":"node","replicas":1,"template":{"spec":)"
                  R"({"parallelism":2,"completions":2,"template":)" +
                  kTemplate + "}}}]",
              what);
  }
  // The owner of the gang of the next pod that the core gets.
  std::string owner_of_pod(const std::string& controller, const std::string& labels) {
    see_text(
        R"({"metadata":{"uid":"p","namespace":"a","name":"p","resourceVersion":")" +
        std::to_string(++version_) + R"(","labels":{)" + labels +
        R"(},"ownerReferences":[{"controller":true,)" + controller +
        R"(}]},"spec":{"schedulingGates":[{"name":"subak.gpu/queue"}],"containers":[{"name":"c",)"
        R"("resources":{"limits":{"nvidia.com/gpu":"8"}}}]}})");
    std::string owner = "none";
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (const auto* const seen = std::get_if<in::PodSeen>(&news->body)) owner = seen->pod.owner;
      cache.outbox().answered(news->uid);
    }
    return owner;
  }

 private:
  simdjson::dom::parser below_;
};

TEST_F(ParkedAbove, ATrainJobHasThePodsOfItsJobSet) {
  for (const OwnerKind kind : {OwnerKind::kTrainJob, OwnerKind::kJobSet, OwnerKind::kJob})
    list(kind);
  see_above(OwnerKind::kTrainJob, "T", true);
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_THAT(plan(), IsEmpty()) << "its JobSet comes";
  see_set(true);
  EXPECT_THAT(said(), ElementsAre("parked T 2x8 of a/train for ana"));
  see_above(OwnerKind::kTrainJob, "T", true);
  EXPECT_THAT(said(), IsEmpty()) << "nothing has changed";
  turn_of(1, "T");
  EXPECT_THAT(plan(), ElementsAre("resume T"));
  see_above(OwnerKind::kTrainJob, "T", false);
  EXPECT_THAT(said(), ElementsAre("resumed T"));
  see_set(false);
  see_below(OwnerKind::kJob, "J",
            R"("apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","uid":"S")",
            R"("parallelism":2)");
  EXPECT_EQ(owner_of_pod(R"("apiVersion":"batch/v1","kind":"Job","name":"j","uid":"J")",
                         R"("jobset.sigs.k8s.io/jobset-name":"train","jobset.sigs.k8s.io/)"
                         R"(replicatedjob-name":"node","jobset.sigs.k8s.io/jobset-uid":"S")"),
            "T");
}

TEST_F(ParkedAbove, ATrainJobThatIsSeenAfterItsJobSet) {
  see_set(true);
  see_above(OwnerKind::kTrainJob, "T", true);
  EXPECT_THAT(said(), ElementsAre("parked T 2x8 of a/train for ana"));
  see_set(true, "", WatchKind::kDeleted);
  EXPECT_THAT(said(), ElementsAre("gone T"));
  EXPECT_THAT(plan(), IsEmpty()) << "its controller creates the JobSet again";
  EXPECT_THAT(cache.owners().restless(), IsEmpty());
}

TEST_F(ParkedAbove, ATrainJobWhosePodsAreSeveralGangsIsResumed) {
  see_above(OwnerKind::kTrainJob, "T", true);
  see_set(true, R"(,"startupPolicy":{"startupPolicyOrder":"InOrder"})");
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_THAT(plan(), ElementsAre("resume T"));
}

TEST_F(ParkedAbove, TheOwnersBelowFollowTheirController) {
  const auto job = [this](const std::string& set, WatchKind what = WatchKind::kModified) {
    see_below(OwnerKind::kJob, "J",
              R"("apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","uid":")" + set + "\"",
              R"("parallelism":2)", what);
  };
  see_above(OwnerKind::kTrainJob, "T", false);
  see_set(false);
  job("S");
  EXPECT_THAT(cache.owners().below("T"), ElementsAre("S", "J"));
  EXPECT_THAT(cache.owners().below("S"), ElementsAre("J"));
  job("S");
  EXPECT_THAT(cache.owners().below("S"), ElementsAre("J")) << "nothing has changed";
  job("X");
  EXPECT_THAT(cache.owners().below("T"), ElementsAre("S")) << "another controller adopted the Job";
  EXPECT_THAT(cache.owners().below("X"), ElementsAre("J"));
  job("X", WatchKind::kDeleted);
  EXPECT_THAT(cache.owners().below("X"), IsEmpty());
  see_set(false, "", WatchKind::kDeleted);
  EXPECT_THAT(cache.owners().below("T"), IsEmpty());
}

TEST_F(ParkedAbove, ARayJobHasThePodsOfItsCluster) {
  for (const OwnerKind kind : {OwnerKind::kRayJob, OwnerKind::kRayCluster}) list(kind);
  const std::string cluster = R"("headGroupSpec":{"template":)" + std::string(kTemplate) +
                              R"(},"workerGroupSpecs":[{"groupName":"w","replicas":2,"template":)" +
                              kTemplate + "}]";
  see_above(OwnerKind::kRayJob, "R", true, R"(,"rayClusterSpec":{)" + cluster + "}");
  EXPECT_THAT(said(), ElementsAre("parked R 1x8 2x8 of a/train for ana"));
  see_above(OwnerKind::kRayJob, "R", false, R"(,"rayClusterSpec":{)" + cluster + "}");
  EXPECT_THAT(said(), ElementsAre("resumed R"));
  see_below(OwnerKind::kRayCluster, "C", R"("apiVersion":"ray.io/v1","kind":"RayJob","uid":"R")",
            cluster);
  EXPECT_EQ(owner_of_pod(R"("apiVersion":"ray.io/v1","kind":"RayCluster","name":"c","uid":"C")",
                         R"("ray.io/cluster":"c","ray.io/group":"headgroup")"),
            "R");
}

}  // namespace
}  // namespace subak
