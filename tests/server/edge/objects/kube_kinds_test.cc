// What the edge makes of the owners of operators and of the groups that pods name, without any I/O.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "tests/server/edge/kube_seen.h"

namespace subak {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string path_of(OwnerKind kind) {
  return collection_of(row_of(kind), row_of(kind).versions.front());
}
std::string gpus(int count) {
  return R"({"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":")" +
         std::to_string(count) + R"("}}}]}})";
}

struct OfKind {
  std::string uid;
  std::string api, kind, owner;  // the controller; none if `owner` is empty
  std::string labels{}, notes{}, spec{};
  int gpus = 1;
  bool gated = true;
};

class Kinds : public Kube {
 protected:
  void list(OwnerKind kind) {
    cache.owners().begin(path_of(kind));
    cache.complete_owners(path_of(kind));
  }
  void see_kind(OwnerKind kind, const std::string& uid, const std::string& name,
                const std::string& spec, WatchKind what = WatchKind::kModified,
                const std::string& meta = "") {
    WatchEvent event;
    event.kind = what;
    event.object =
        objects_.parse(R"({"metadata":{"uid":")" + uid + R"(","namespace":"a","name":")" + name +
                       R"(","resourceVersion":"5")" + meta + R"(},"spec":{)" + spec + "}}");
    cache.see_owner(event, path_of(kind));
  }
  void see(const OfKind& p, WatchKind what = WatchKind::kModified) {
    const std::string owner = p.owner.empty()
                                  ? ""
                                  : R"(,"ownerReferences":[{"controller":true,"apiVersion":")" +
                                        p.api + R"(","kind":")" + p.kind +
                                        R"(","name":"j","uid":")" + p.owner + "\"}]";
    const std::string limit = p.gpus == 0 ? ""
                                          : R"("resources":{"limits":{"nvidia.com/gpu":")" +
                                                std::to_string(p.gpus) + "\"}},";
    see_text(R"({"metadata":{"uid":")" + p.uid + R"(","namespace":"a","name":")" + p.uid +
                 R"(","resourceVersion":")" + std::to_string(++version_) + R"(","labels":{)" +
                 p.labels + R"(},"annotations":{)" + p.notes + "}" + owner + R"(},"spec":{)" +
                 p.spec + R"("schedulingGates":[)" +
                 (p.gated ? R"({"name":"subak.gpu/queue"})" : "") + R"(],"containers":[{)" + limit +
                 R"("name":"c"}]}})",
             what);
  }
  std::vector<std::string> said() {
    std::vector<std::string> out;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      if (const auto* seen = std::get_if<in::PodSeen>(&news->body)) {
        const PodRecord& pod = seen->pod;
        out.push_back(pod.uid + ": " + pod.gang + " of " + pod.owner + " " +
                      std::to_string(pod.gang_size) + (pod.replaced_alone ? " alone" : ""));
      } else if (const auto* gone = std::get_if<in::PodGone>(&news->body)) {
        out.push_back("gone " + gone->pod.uid);
      } else if (const auto* gang = std::get_if<in::GangGone>(&news->body)) {
        out.push_back("gang gone " + gang->owner);
      } else if (const auto* late = std::get_if<in::GangSeen>(&news->body)) {
        out.push_back("late of " + late->owner + " least " + std::to_string(late->least));
      }
      cache.outbox().answered(news->uid);
    }
    return out;
  }
  static OfKind trained(const std::string& uid, const std::string& type, int index,
                        const std::string& owner = "T") {
    return {uid, "kubeflow.org/v1", "PyTorchJob", owner,
            R"("training.kubeflow.org/job-name":"j","training.kubeflow.org/replica-type":")" +
                type + R"(","training.kubeflow.org/replica-index":")" + std::to_string(index) +
                "\""};
  }
  static std::string replicas(const std::string& type, int count, int gpus_of_each = 1) {
    return "\"" + type + R"(":{"replicas":)" + std::to_string(count) + R"(,"template":)" +
           gpus(gpus_of_each) + "}";
  }
  static std::string pytorch(int workers, const std::string& more = "") {
    return R"("pytorchReplicaSpecs":{)" + replicas("Master", 1) + "," +
           replicas("Worker", workers) + "}" + more;
  }
  static OfKind grouped(const std::string& uid, int gpus_of_it = 1) {
    OfKind pod{uid, "", "", "", R"("scheduling.x-k8s.io/pod-group":"g")"};
    pod.gpus = gpus_of_it;
    return pod;
  }
  void see_group(const std::string& uid, int least, WatchKind what = WatchKind::kModified) {
    see_kind(OwnerKind::kCoschedulingGroup, uid, "g", R"("minMember":)" + std::to_string(least),
             what);
  }

 private:
  simdjson::dom::parser objects_;
};

TEST_F(Kinds, AKubeflowJobSaysTheSizeOfItsGang) {
  list(OwnerKind::kPyTorchJob);
  see(trained("m", "master", 0));
  EXPECT_THAT(said(), IsEmpty()) << "it waits for its owner";
  see_kind(OwnerKind::kPyTorchJob, "T", "j", pytorch(2));
  see(trained("w", "worker", 0));
  EXPECT_THAT(said(), ElementsAre("m: j of T 3", "w: j of T 3"));
  see_kind(OwnerKind::kPyTorchJob, "T", "j", pytorch(1));
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("m", "w"));
  see(trained("m", "master", 0));
  EXPECT_THAT(said(), ElementsAre("m: j of T 2")) << "the same gang, smaller";
}

TEST_F(Kinds, TwoRunsOfOneNameAreTwoGangs) {
  see_kind(OwnerKind::kPyTorchJob, "T", "j", pytorch(1));
  see(trained("m", "master", 0));
  see_kind(OwnerKind::kPyTorchJob, "T", "j", pytorch(1), WatchKind::kDeleted);
  see_kind(OwnerKind::kPyTorchJob, "U", "j", pytorch(1));
  see(trained("n", "master", 0, "U"));
  EXPECT_THAT(said(), ElementsAre("m: j of T 2", "n: j of U 2"));
}

// Gangs that a template names by subak.gpu/job.
class Named : public Kinds {
 protected:
  static std::string keys(int size) {
    return R"("subak.gpu/job":"g","subak.gpu/gang-size":")" + std::to_string(size) + "\"";
  }
  void see_job(const std::string& uid, int pods, int size, WatchKind what = WatchKind::kModified,
               const std::string& meta = "") {
    see_kind(OwnerKind::kJob, uid, "j",
             R"("parallelism":)" + std::to_string(pods) + R"(,"template":{"metadata":{"labels":{)" +
                 keys(size) + "}}," + gpus(1).substr(1),
             what, meta);
  }
  // A JobSet of two Jobs, each with one pod.
  void see_set(const std::string& uid) {
    see_kind(OwnerKind::kJobSet, uid, "s",
             R"("replicatedJobs":[{"name":"w","replicas":2,"template":{"spec":{"parallelism":1,)"
             R"("template":{"metadata":{"labels":{)" +
                 keys(2) + "}}," + gpus(1).substr(1) + "}}}]");
  }
  static OfKind member(const std::string& uid, const std::string& job, int size,
                       const std::string& labels = "") {
    return {uid, "batch/v1", "Job", job, keys(size) + labels};
  }
};

TEST_F(Named, TwoJobsOfOneGangNameAreTwoGangs) {
  list(OwnerKind::kJob);
  see_job("J", 2, 2);
  see(member("a", "J", 2));
  see(member("b", "K", 2));
  EXPECT_THAT(said(), ElementsAre("a: g of J 2")) << "the other waits for its owner";
  see_job("K", 2, 2);
  EXPECT_THAT(said(), ElementsAre("b: g of K 2"));
}

TEST_F(Named, JobsThatEachMakeAPartOfTheGangShareIt) {
  list(OwnerKind::kJob);
  see_job("L", 1, 3);
  see_job("W", 2, 3);
  see(member("l", "L", 3));
  see(member("w", "W", 3));
  see(OfKind{"bare", "", "", "", keys(3)});
  EXPECT_THAT(said(), ElementsAre("l: g of  3", "w: g of  3", "bare: g of  3"));
}

TEST_F(Named, TheTopmostOwnerThatMakesAllPodsCounts) {
  list(OwnerKind::kJob);
  list(OwnerKind::kJobSet);
  const std::string of_set =
      R"(,"ownerReferences":[{"controller":true,"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","uid":"S"}])";
  see_job("J", 1, 2, WatchKind::kModified, of_set);
  const OfKind pod = member("a", "J", 2, R"(,"jobset.sigs.k8s.io/replicatedjob-name":"w")");
  see(pod);
  EXPECT_THAT(said(), IsEmpty()) << "it waits for the set of its Job";
  see_set("S");
  EXPECT_THAT(said(), ElementsAre("a: g of S 2"));
}

TEST_F(Named, APodThatOutlivesItsOwnerStaysInItsGang) {
  list(OwnerKind::kJob);
  see_job("J", 2, 2);
  see(member("a", "J", 2));
  EXPECT_THAT(said(), ElementsAre("a: g of J 2"));
  see_job("J", 2, 2, WatchKind::kDeleted);
  OfKind going = member("a", "J", 2);
  going.spec = R"("terminationGracePeriodSeconds":5,)";
  see(going);
  EXPECT_THAT(said(), ElementsAre("a: g of J 2"));
  see(going, WatchKind::kDeleted);
  EXPECT_THAT(said(), ElementsAre("gone a", "gang gone J"));
}

TEST_F(Named, APodOfASharedGangThatOutlivesItsOwnerDoesNotWaitForIt) {
  list(OwnerKind::kJob);
  see_job("L", 1, 3);
  OfKind pod = member("l", "L", 3);
  see(pod);
  EXPECT_THAT(said(), ElementsAre("l: g of  3"));
  see_job("L", 1, 3, WatchKind::kDeleted);
  pod.spec = R"("terminationGracePeriodSeconds":5,)";
  see(pod);
  EXPECT_THAT(said(), ElementsAre("l: g of  3"));
}

TEST_F(Named, LaunchersCountInTheGangOfTheirOwnRun) {
  list(OwnerKind::kJobSet);
  for (const char* const run : {"S", "T"}) {
    see_set(run);
    OfKind launcher{std::string("launcher-") + run, "jobset.x-k8s.io/v1alpha2", "JobSet", run,
                    keys(2)};
    launcher.gpus = 0;
    launcher.gated = false;
    see(launcher);
  }
  see(OfKind{"worker-S", "jobset.x-k8s.io/v1alpha2", "JobSet", "S", keys(2)});
  EXPECT_THAT(said(), ElementsAre("worker-S: g of S 1")) << "one launcher of the two";
}

TEST_F(Kinds, TheEndOfAnOperatorsJobEndsItsGang) {
  list(OwnerKind::kJob);
  list(OwnerKind::kPyTorchJob);
  see_kind(OwnerKind::kPyTorchJob, "T", "j", pytorch(1));
  see(trained("m", "master", 0));
  see(trained("m", "master", 0), WatchKind::kDeleted);
  EXPECT_THAT(said(), ElementsAre("m: j of T 2", "gone m"));
  see_kind(OwnerKind::kPyTorchJob, "T", "j", pytorch(1), WatchKind::kDeleted);
  EXPECT_THAT(said(), ElementsAre("gang gone T"));
}

TEST_F(Kinds, AnOwnerThatContradictsItsPods) {
  see_kind(OwnerKind::kPyTorchJob, "T", "j", pytorch(2));
  see(trained("x", "other", 0));
  EXPECT_THAT(said(), ElementsAre("x:  of T 1")) << "the owner has no such role: it starts alone";
  OfKind stated = trained("s", "worker", 0);
  stated.notes = R"("subak.gpu/gang-size":"5")";
  see(stated);
  EXPECT_THAT(said(), ElementsAre("s: j of T 5")) << "the pod's own word";
  see_kind(OwnerKind::kPyTorchJob, "T", "j",
           R"("pytorchReplicaSpecs":{)" + replicas("Worker", 20'000) + "}");
  see(trained("w", "worker", 0));
  EXPECT_THAT(said(), ElementsAre("w: j of T 0")) << "too many pods: it is held, with a reason";
  EXPECT_THAT(cache.marks().take_unsized(), ElementsAre("w"));
}

TEST_F(Kinds, AKindThatIsNotServedLeavesItsPodsAsTheyWere) {
  see(trained("m", "master", 0));
  EXPECT_THAT(said(), ElementsAre("m: j of T 0"));
  see_kind(OwnerKind::kPyTorchJob, "T", "j", pytorch(1));  // it is installed later
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("m"));
  see(trained("m", "master", 0));
  EXPECT_THAT(said(), ElementsAre("m: j of T 2"));
}

TEST_F(Kinds, OneReplicaAloneStartsByItself) {
  see_kind(OwnerKind::kPyTorchJob, "T", "j",
           R"("pytorchReplicaSpecs":{)" + replicas("Master", 1) + "}");
  see(trained("m", "master", 0));
  EXPECT_THAT(said(), ElementsAre("m:  of T 1"));
}

// The launcher's pod is made by a Job, and the Job by the MPIJob.
class Mpi : public Kinds {
 protected:
  static OfKind worker(int index) {
    const std::string n = std::to_string(index);
    return {"w" + n, "kubeflow.org/v2beta1", "MPIJob", "M",
            R"("training.kubeflow.org/job-name":"j","training.kubeflow.org/job-role":"worker",)"
            R"("training.kubeflow.org/replica-index":")" +
                n + "\""};
  }
  static OfKind launcher(int gpus_of_it = 1) {
    OfKind pod{
        "l", "batch/v1", "Job", "L",
        R"("training.kubeflow.org/job-name":"j","training.kubeflow.org/job-role":"launcher",)"
        R"("batch.kubernetes.io/job-name":"j-launcher")"};
    pod.gpus = gpus_of_it;
    return pod;
  }
  void see_mpi(int gpus_of_launcher, const std::string& more = "") {
    see_kind(OwnerKind::kMpiJob, "M", "j",
             R"("mpiReplicaSpecs":{)" + replicas("Launcher", 1, gpus_of_launcher) + "," +
                 replicas("Worker", 2) + "}" + more);
    see_kind(
        OwnerKind::kJob, "L", "j-launcher",
        R"("parallelism":1,"template":)" + gpus(gpus_of_launcher), WatchKind::kModified,
        R"(,"ownerReferences":[{"controller":true,"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","uid":"M"}])");
  }
};

TEST_F(Mpi, ALauncherWithGpusIsOfTheSameGang) {
  see_mpi(1);
  see(worker(0));
  see(launcher());
  EXPECT_THAT(said(), ElementsAre("w0: j of M 3", "l: j of M 3"));
}

TEST_F(Mpi, ALauncherWithoutGpusIsNoMember) {
  see_mpi(0);
  see(launcher(0));
  see(worker(0));
  see(worker(1));
  EXPECT_THAT(said(), ElementsAre("w0: j of M 2", "w1: j of M 2"));
}

TEST_F(Mpi, AStatedSizeJoinsThemToo) {
  see_mpi(1);
  OfKind first = worker(0), second = launcher();
  first.notes = second.notes = R"("subak.gpu/gang-size":"3")";
  see(first);
  see(second);
  EXPECT_THAT(said(), ElementsAre("w0: j of M 3", "l: j of M 3"));
}

TEST_F(Mpi, ALauncherThatComesLaterIsNotWaitedFor) {
  see_mpi(1, R"(,"launcherCreationPolicy":"WaitForWorkersReady")");
  see(worker(0));
  see(worker(1));
  see(launcher());
  EXPECT_THAT(said(), ElementsAre("w0: j of M 3", "late of M least 2", "w1: j of M 3",
                                  "late of M least 2", "l: j of M 3"));
}

TEST_F(Mpi, NobodySuspendsTheLaunchersJob) {
  see_mpi(1);
  OfKind pod = launcher();
  pod.gated = false;
  see(pod);
  want(EffectKind::kEvict, 1, {"l"}, Cause::kExpired);
  EXPECT_THAT(plan(), ElementsAre("evict l")) << "the operator would resume it";
}

TEST_F(Kinds, AVolcanoJobIsNoJobOfKubernetes) {
  list(OwnerKind::kJob);
  list(OwnerKind::kVolcanoJob);
  OfKind pod{"p", "batch.volcano.sh/v1alpha1", "Job", "V",
             R"("volcano.sh/job-name":"j","volcano.sh/task-spec":"t")"};
  see_kind(OwnerKind::kVolcanoJob, "V", "j",
           R"("tasks":[{"name":"t","replicas":2,"template":)" + gpus(1) + "}]");
  see(pod);
  EXPECT_THAT(said(), ElementsAre("p: j of V 2"));
  pod.gated = false;
  see(pod);
  want(EffectKind::kEvict, 1, {"p"}, Cause::kExpired);
  EXPECT_THAT(plan(), ElementsAre("evict p"));
}

TEST_F(Kinds, WorkersThatTheAutoscalerAddsAreApart) {
  const auto ray = [](const std::string& uid, const std::string& group) {
    return OfKind{
        uid, "ray.io/v1", "RayCluster", "R",
        R"("ray.io/cluster":"j","ray.io/node-type":"worker","ray.io/group":")" + group + "\""};
  };
  const std::string groups =
      R"("headGroupSpec":{"template":)" + gpus(1) +
      R"(},"enableInTreeAutoscaling":true,"workerGroupSpecs":[{"groupName":"w",)"
      R"("replicas":2,"minReplicas":1,"template":)" +
      gpus(1) + "}]";
  see_kind(OwnerKind::kRayCluster, "R", "j", groups);
  see(ray("h", "headgroup"));
  see(ray("w0", "w"));
  see(ray("w1", "w"));
  EXPECT_THAT(said(), ElementsAre("h: j of R 2 alone", "w0: j of R 2 alone", "w1: j of R 2 alone"));
  want(EffectKind::kOpenGate, 1, {"h", "w0"});
  const auto& [job, wanted] = *jobs.begin();
  EXPECT_TRUE(begins_attempt({}, wanted.effect));
  EXPECT_FALSE(begins_attempt(jobs, wanted.effect)) << "it is known";
  EXPECT_THAT(pods_beyond(cache, jobs, job), ElementsAre("w1"));
  cache.tell_again("w1", true);
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("w1"));
  see(ray("w1", "w"));
  EXPECT_THAT(said(), ElementsAre("gone w1", "w1: j of R 2 alone")) << "as a pod that comes now";
  EXPECT_THAT(pods_beyond(cache, jobs, job), IsEmpty()) << "once";
}

TEST_F(Kinds, APodGroupSaysTheLeastSize) {
  list(OwnerKind::kCoschedulingGroup);
  see(grouped("p"));
  EXPECT_THAT(said(), IsEmpty()) << "it waits for its group";
  see_group("G", 2);
  see(grouped("q"));
  EXPECT_THAT(said(), ElementsAre("p: g of G 2 alone", "q: g of G 2 alone"));
  see_group("G", 3);
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("p", "q"));
  see(grouped("p"));
  EXPECT_THAT(said(), ElementsAre("p: g of G 3 alone"));
}

TEST_F(Kinds, APodGroupThatNeverComesIsAReason) {
  list(OwnerKind::kCoschedulingGroup);
  see(grouped("p"));
  cache.adopt_orphans(monotonic + limits::kOwnerMs);
  EXPECT_THAT(said(), ElementsAre("p: g of  0"));
  EXPECT_THAT(cache.marks().take_unsized(), ElementsAre("p"));
  see_group("G", 2);
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("p"));
  see(grouped("p"));
  EXPECT_THAT(said(), ElementsAre("gone p", "p: g of G 2 alone"));
  see_group("G", 2, WatchKind::kDeleted);
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("p")) << "it has no size again";
}

TEST_F(Kinds, PodsWithoutGpusCountInAPodGroup) {
  see_group("G", 3);
  see(grouped("p"));
  EXPECT_THAT(said(), ElementsAre("p: g of G 3 alone"));
  see(grouped("light", 0));
  EXPECT_THAT(cache.marks().take_outdated(), ElementsAre("p"));
  see(grouped("p"));
  EXPECT_THAT(said(), ElementsAre("p: g of G 2 alone"));
}

TEST_F(Kinds, PodsOfAGroupDoNotCountInAStatedSize) {
  see_group("G", 3);
  see(grouped("light", 0));
  OfKind pod = grouped("p");
  pod.notes = R"("subak.gpu/gang-size":"2")";
  see(pod);
  EXPECT_THAT(said(), ElementsAre("p: g of  2"));
}

TEST_F(Kinds, TwoParentsAndTheControllerCounts) {
  see_group("G", 9);
  see_kind(OwnerKind::kPyTorchJob, "T", "g", pytorch(1));
  OfKind pod = trained("m", "master", 0);
  pod.labels += R"(,"scheduling.x-k8s.io/pod-group":"g")";
  see(pod);
  EXPECT_THAT(said(), ElementsAre("m: g of T 2"));
  OfKind two = grouped("p");
  two.notes = R"("pod-group-name":"other")";
  see(two);
  EXPECT_THAT(said(), ElementsAre("p: g of G 9 alone")) << "the group that exists";
}

TEST_F(Kinds, GroupsOfKubernetesItself) {
  see_kind(OwnerKind::kPodGroup, "G", "g", R"("schedulingPolicy":{"gang":{"minCount":2}})");
  see_kind(OwnerKind::kWorkload, "W", "w",
           R"("podGroups":[{"name":"x","policy":{"gang":{"minCount":4}}}])");
  OfKind pod{"p", "", "", ""};
  pod.spec = R"("schedulingGroup":{"podGroupName":"g"},)";
  see(pod);
  const auto of_workload = [](const std::string& uid, const std::string& part,
                              const std::string& copy) {
    OfKind p{uid, "", "", ""};
    p.spec = R"("workloadRef":{"name":"w","podGroup":")" + part + R"(","podGroupReplicaKey":")" +
             copy + "\"},";
    return p;
  };
  see(of_workload("q", "x", "0"));
  see(of_workload("r", "x", "1"));
  see(of_workload("s", "gone", ""));
  EXPECT_THAT(said(), ElementsAre("p: g of G 2 alone", "q: w of W/x/0 4 alone",
                                  "r: w of W/x/1 4 alone", "s: w of  0"));
}

}  // namespace
}  // namespace subak
