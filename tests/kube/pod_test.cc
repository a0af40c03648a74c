#include "kube/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pods.h"

namespace subak {
namespace {

using test::container;
using ::testing::HasSubstr;

// Keeps the document alive beside the pod that points into it.
struct Read {
  explicit Read(const std::string& text, const ExtraGpuResources& extra = {})
      : value(parser.parse(text)), pod(read_pod(value, extra)) {}
  std::string mistake() const { return pod.mistakes.empty() ? "" : pod.mistakes[0].message(); }
  simdjson::dom::parser parser;
  json::Value value;
  Pod pod;
};

std::string requests(std::string_view list, std::string_view more = "") {
  return R"({"name":"c","resources":{"requests":{)" + std::string(list) + "}}" + std::string(more) +
         "}";
}

std::string keyed(std::string_view annotations, std::string_view labels = "") {
  return test::pod(container("nvidia.com/gpu", "1"),
                   R"("name":"p","labels":{)" + std::string(labels) + R"(},"annotations":{)" +
                       std::string(annotations) + "}");
}

TEST(PodResources, KnowsTheGpuKinds) {
  EXPECT_EQ(gpu_kind_of("nvidia.com/gpu", {}), GpuKind::kWhole);
  EXPECT_EQ(gpu_kind_of("nvidia.com/gpu.shared", {}), GpuKind::kShared);
  EXPECT_EQ(gpu_kind_of("nvidia.com/mig-1g.10gb", {}), GpuKind::kMig);
  EXPECT_EQ(gpu_kind_of("nvidia.com/mig-1g.10gb.shared", {}), GpuKind::kMig);
  EXPECT_EQ(gpu_kind_of("nvidia.com/mlnxnics", {}), GpuKind::kNone);
  EXPECT_EQ(gpu_kind_of("rdma/hca", {}), GpuKind::kNone);
  EXPECT_EQ(gpu_kind_of("nvidia.com/pgpu", {"nvidia.com/pgpu"}), GpuKind::kWhole);
  EXPECT_EQ(mig_profile_of("nvidia.com/mig-1g.10gb.me"), "1g.10gb.me");
  EXPECT_EQ(mig_profile_of("nvidia.com/mig-1g.5gb.shared"), "1g.5gb");
  EXPECT_EQ(mig_profile_of("nvidia.com/gpu"), "");
}

TEST(PodResources, TakesTheLargerOfRunningAndStarting) {
  const Read r(test::pod(
      requests(R"("cpu":"2","memory":"1Gi")") + "," + requests(R"("cpu":"500m","memory":"1Gi")"),
      R"("name":"p")",
      R"(,"initContainers":[)" + requests(R"("cpu":"1")") + "," +
          requests(R"("cpu":"250m","memory":"8Gi")", R"(,"restartPolicy":"Always")") + "," +
          requests(R"("cpu":"4")") + R"(],"overhead":{"cpu":"100m","memory":"64Mi"})"));
  // Running: 2 + 0.5 + sidecar 0.25; starting: 4 + sidecar 0.25. Memory: 2 GiB + sidecar 8 GiB.
  EXPECT_EQ(r.pod.shape.cpu_milli, 4250 + 100);
  EXPECT_EQ(r.pod.shape.memory_bytes, (10LL << 30) + (64LL << 20));
  EXPECT_FALSE(r.pod.asks_gpu());
}

TEST(PodResources, InitContainersMayBeTheOnesWithGpus) {
  const Read r(test::pod(container("nvidia.com/gpu", "1"), R"("name":"p")",
                         R"(,"initContainers":[)" + container("nvidia.com/gpu", "4") + "]"));
  EXPECT_EQ(r.pod.shape.gpus, 4);
  const Read sidecar(
      test::pod(container("nvidia.com/gpu", "1"), R"("name":"p")",
                R"(,"initContainers":[)" +
                    container("nvidia.com/gpu", "4", R"(,"restartPolicy":"Always")") + "]"));
  EXPECT_EQ(sidecar.pod.shape.gpus, 5);
}

TEST(PodResources, PodLevelResourcesReplaceTheSum) {
  const Read r(test::pod(requests(R"("cpu":"2","memory":"1Gi")"), R"("name":"p")",
                         R"(,"resources":{"limits":{"cpu":"6","memory":"3Gi"}})"));
  EXPECT_EQ(r.pod.shape.cpu_milli, 6000);
  EXPECT_EQ(r.pod.shape.memory_bytes, 3LL << 30);
  EXPECT_TRUE(r.pod.guaranteed);
}

TEST(PodResources, GpusAddUpOverContainers) {
  const Read r(test::pod(container("nvidia.com/gpu", "2") + "," + container("nvidia.com/gpu", "3") +
                         "," + container("nvidia.com/gpu", "0")));
  EXPECT_EQ(r.pod.shape.kind, GpuKind::kWhole);
  EXPECT_EQ(r.pod.shape.gpus, 5);
  EXPECT_TRUE(r.pod.guaranteed);
}

TEST(PodResources, GpusOfOneContainer) {
  const auto most = [](const std::string& containers) {
    return Read(test::pod(containers)).pod.shape.container_gpus;
  };
  const std::string two = container("nvidia.com/gpu", "2"),
                    three = container("nvidia.com/gpu", "3");
  EXPECT_EQ(most(three), 0);
  EXPECT_EQ(most(three + "," + container("rdma/hca", "1")), 0);
  EXPECT_EQ(most(two + "," + three), 3);
  const Read before(test::pod(three, R"("name":"p")", R"(,"initContainers":[)" + two + "]"));
  EXPECT_EQ(before.pod.shape.gpus, 3) << "an init container ends before";
  EXPECT_EQ(before.pod.shape.container_gpus, 0);
}

TEST(PodResources, HugePagesAreCounted) {
  const Read r(test::pod(container("nvidia.com/gpu", "1\",\"hugepages-2Mi\":\"64Mi")));
  ASSERT_EQ(r.pod.shape.extended.size(), 1u);
  EXPECT_EQ(r.pod.shape.extended[0], (ResourceCount{"hugepages-2Mi", 64 << 20}));
  EXPECT_EQ(r.pod.containers[0].huge_pages, "hugepages-2Mi");
}

TEST(PodResources, QosGapsAreThoseOfPodsWithSeveralGpus) {
  const std::string loose =
      R"({"name":"c","resources":{"limits":{"nvidia.com/gpu":"2","cpu":"0","memory":"x"}}})";
  const Read r(test::pod(loose));
  EXPECT_FALSE(r.pod.guaranteed);
  ASSERT_EQ(r.pod.qos_gaps.size(), 2u);
  EXPECT_EQ(r.pod.qos_gaps[0].message(),
            R"(spec.containers[0].resources.limits[cpu]: was "0", want whole CPUs such as "8")");
  EXPECT_EQ(r.pod.qos_gaps[1].field, "spec.containers[0].resources.limits[memory]");
  std::string many = loose;
  for (int i = 0; i < 20; ++i) many += "," + loose;
  EXPECT_EQ(Read(test::pod(many)).pod.qos_gaps.size(), Pod::kMaxQosGaps);
  const Read one(test::pod(R"({"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}})"));
  EXPECT_FALSE(one.pod.guaranteed);
  EXPECT_TRUE(one.pod.qos_gaps.empty());
}

TEST(PodResources, ZeroCountsAsNone) {
  const Read r(test::pod(container("nvidia.com/gpu", "0")));
  EXPECT_FALSE(r.pod.asks_gpu());
  EXPECT_TRUE(r.pod.mistakes.empty());
}

TEST(PodResources, NumbersByHandAreRead) {
  const Read r(
      R"({"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":2,"cpu":1.5}}}]}})");
  EXPECT_EQ(r.pod.shape.gpus, 2);
  EXPECT_EQ(r.pod.shape.cpu_milli, 1500);
}

TEST(PodResources, MigAndSharedAndExtended) {
  const Read mig(test::pod(container("nvidia.com/mig-2g.20gb", "3")));
  EXPECT_EQ(mig.pod.shape.kind, GpuKind::kMig);
  EXPECT_EQ(mig.pod.shape.profile, "2g.20gb");
  EXPECT_EQ(mig.pod.shape.gpus, 3);
  const Read rdma(test::pod(container("nvidia.com/gpu", "8\",\"rdma/hca\":\"1")));
  ASSERT_EQ(rdma.pod.shape.extended.size(), 1u);
  EXPECT_EQ(rdma.pod.shape.extended[0].name, "rdma/hca");
  EXPECT_EQ(rdma.pod.shape.extended[0].count, 1);
  EXPECT_EQ(rdma.pod.containers[0].rdma, "rdma/hca");
  EXPECT_EQ(rdma.pod.containers[0].gpus, 8);
  EXPECT_EQ(rdma.pod.containers[0].gpu_resource, "nvidia.com/gpu");
  const Read extra(test::pod(container("nvidia.com/pgpu", "2")), {"nvidia.com/pgpu"});
  EXPECT_EQ(extra.pod.shape.kind, GpuKind::kWhole);
  EXPECT_EQ(extra.pod.shape.extended.at(0).name, "nvidia.com/pgpu");
}

TEST(PodResources, Mistakes) {
  EXPECT_THAT(Read(test::pod(container("nvidia.com/gpu", "0.5"))).mistake(),
              HasSubstr(R"(requests[nvidia.com/gpu]: was "0.5", want a whole number)"));
  EXPECT_THAT(Read(test::pod(container("nvidia.com/gpu", "500m"))).mistake(), HasSubstr("500m"));
  EXPECT_THAT(Read(test::pod(container("nvidia.com/gpu", "-1"))).mistake(), HasSubstr("-1"));
  EXPECT_THAT(Read(test::pod(container("nvidia.com/gpu", "9999999"))).mistake(),
              HasSubstr("at most 1000000"));
  EXPECT_EQ(Read(test::pod(container("nvidia.com/gpu", "2000m"))).pod.shape.gpus, 2);
  const auto two = [](std::string_view request, std::string_view limit) {
    return test::pod(R"({"resources":{"requests":{)" + std::string(request) + R"(},"limits":{)" +
                     std::string(limit) + "}}}");
  };
  EXPECT_THAT(Read(two(R"("nvidia.com/gpu":"1")", R"("nvidia.com/gpu":"2")")).mistake(),
              HasSubstr("want the same as the request"));
  EXPECT_THAT(Read(two(R"("nvidia.com/gpu":"1")", R"("cpu":"2")")).mistake(), HasSubstr("not set"));
  EXPECT_EQ(Read(two(R"("cpu":"1")", R"("nvidia.com/gpu":"2")")).pod.shape.gpus, 2);
  EXPECT_EQ(Read(two(R"("nvidia.com/gpu":"0")", R"("cpu":"1")")).mistake(), "");
}

TEST(PodResources, TwoKinds) {
  const Read one(test::pod(container("nvidia.com/gpu", "1\",\"nvidia.com/mig-1g.10gb\":\"1")));
  EXPECT_TRUE(one.pod.two_kinds);
  EXPECT_THAT(one.mistake(), HasSubstr("one GPU kind in a container"));
  const Read zero(test::pod(container("nvidia.com/gpu", "1\",\"nvidia.com/mig-1g.10gb\":\"0")));
  EXPECT_FALSE(zero.pod.two_kinds);
  const Read pod(
      test::pod(container("nvidia.com/gpu", "1") + "," + container("nvidia.com/mig-1g.10gb", "1")));
  EXPECT_THAT(pod.mistake(), HasSubstr("one GPU kind in a pod"));
}

TEST(PodConstraints, SelectorsAffinityTolerationsPorts) {
  const Read r(test::pod(
      container(
          "nvidia.com/gpu", "1",
          R"(,"ports":[{"containerPort":80,"hostPort":8080,"protocol":"TCP"},{"containerPort":9}])"),
      R"("name":"p")",
      R"(,"nodeSelector":{"zone":"b","nvidia.com/gpu.product":"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"},
         "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
           {"matchExpressions":[{"key":"rack","operator":"In","values":["r1","r2"]}],
            "matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]},{}]}}},
         "tolerations":[{"key":"nvidia.com/gpu","operator":"Exists","effect":"NoSchedule"},
                        {"key":"team","operator":"Equal","value":"x"}])"));
  const PodShape& s = r.pod.shape;
  ASSERT_EQ(s.node_selector.size(), 2u);
  EXPECT_EQ(s.node_selector[1], (Label{"zone", "b"}));
  ASSERT_EQ(s.affinity.size(), 2u);
  EXPECT_EQ(s.affinity[0].requirements[0], (Requirement{"rack", "In", {"r1", "r2"}}));
  EXPECT_EQ(s.affinity[0].requirements[1], (Requirement{"metadata.name", "In", {"n1"}}));
  EXPECT_TRUE(s.affinity[1].requirements.empty());
  ASSERT_EQ(s.tolerations.size(), 2u);
  EXPECT_EQ(s.tolerations[0], (Toleration{"nvidia.com/gpu", "Exists", "", "NoSchedule"}));
  EXPECT_EQ(s.tolerations[1].op, "");
  ASSERT_EQ(s.host_ports.size(), 1u);
  EXPECT_EQ(s.host_ports[0].port, 8080);
  EXPECT_EQ(s.products, (std::vector<std::string>{"NVIDIA-A100-SXM4-40GB"}));
}

TEST(PodConstraints, ProductsOfAffinity) {
  const auto term = [](std::string_view v) {
    return R"({"matchExpressions":[{"key":"nvidia.com/gpu.product","operator":"In","values":[)" +
           std::string(v) + "]}]}";
  };
  const auto with = [](const std::string& terms) {
    return test::pod(
        container("nvidia.com/gpu", "1"), R"("name":"p")",
        R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
        R"({"nodeSelectorTerms":[)" +
            terms + "]}}}");
  };
  EXPECT_EQ(Read(with(term(R"("B","A")") + "," + term(R"("A")"))).pod.shape.products,
            (std::vector<std::string>{"A", "B"}));
  EXPECT_TRUE(Read(with(term(R"("B")") + ",{}")).pod.shape.products.empty());
}

TEST(PodConstraints, TooManyTermsAreAMistake) {
  std::string list;
  for (int i = 0; i < 65; ++i) list += std::string(i == 0 ? "" : ",") + R"({"operator":"Exists"})";
  const Read r(test::pod(container("nvidia.com/gpu", "1"), R"("name":"p")",
                         R"(,"tolerations":[)" + list + "]"));
  EXPECT_THAT(r.mistake(), HasSubstr("want at most 64"));
}

TEST(PodKeys, Values) {
  const Read r(keyed(R"("subak.gpu/topology":"prefer:nvlink-exclusive","subak.gpu/segment":"4",
      "subak.gpu/time-limit":"2d12h","subak.gpu/priority":"high","subak.gpu/foo":"1",
      "subak.gpu/status":"x")"));
  EXPECT_EQ(r.mistake(), "");
  EXPECT_EQ(r.pod.terms.topology, Topology::kNvlinkExclusive);
  EXPECT_TRUE(r.pod.terms.prefer);
  EXPECT_EQ(r.pod.terms.segment, 4u);
  EXPECT_EQ(r.pod.time_limit_ms, 60 * kHourMs);
  EXPECT_EQ(pod_record(r.pod, false).priority_class, "high");
  EXPECT_EQ(r.pod.not_read.keys, (std::vector<Text>{"subak.gpu/foo"}));
}

TEST(PodKeys, KeysOfLaterVersionsAreUnknown) {
  const Read r(keyed(R"("subak.gpu/checkpoint-interval":"x","subak.gpu/replace-within":"")"));
  EXPECT_EQ(r.mistake(), "");
  EXPECT_EQ(r.pod.not_read.keys,
            (std::vector<Text>{"subak.gpu/checkpoint-interval", "subak.gpu/replace-within"}));
}

TEST(PodKeys, Preemptible) {
  EXPECT_TRUE(Read(keyed(R"("subak.gpu/preemptible":"false")")).pod.terms.not_preemptible);
  EXPECT_FALSE(Read(keyed(R"("subak.gpu/preemptible":"true")")).pod.terms.not_preemptible);
  EXPECT_FALSE(Read(keyed("")).pod.terms.not_preemptible);
  const Read maybe(keyed(R"("subak.gpu/preemptible":"maybe")"));
  EXPECT_EQ(maybe.mistake(),
            "metadata.annotations[subak.gpu/preemptible]: was \"maybe\", want \"true\" or "
            "\"false\"");
  EXPECT_FALSE(maybe.pod.terms.not_preemptible);
}

TEST(PodKeys, SegmentAloneMeansNvlink) {
  EXPECT_EQ(Read(keyed(R"("subak.gpu/segment":"4")")).pod.terms.topology, Topology::kNvlink);
  EXPECT_EQ(
      Read(keyed(R"("subak.gpu/segment":"4","subak.gpu/topology":"rack")")).pod.terms.topology,
      Topology::kRack);
}

TEST(PodKeys, MixedProductsAndBalanced) {
  const Read both(keyed(R"("subak.gpu/mixed-products":"true","subak.gpu/balanced":"true",
      "subak.gpu/topology":"prefer:nvlink")"));
  EXPECT_EQ(both.mistake(), "");
  EXPECT_TRUE(both.pod.terms.mixed_products);
  EXPECT_TRUE(both.pod.terms.balanced);
  EXPECT_TRUE(both.pod.not_read.keys.empty());
  const Read neither(keyed(R"("subak.gpu/mixed-products":"false","subak.gpu/balanced":"false")"));
  EXPECT_EQ(neither.mistake(), "");
  EXPECT_FALSE(neither.pod.terms.mixed_products);
  EXPECT_FALSE(neither.pod.terms.balanced);
  EXPECT_TRUE(
      Read(keyed(R"("subak.gpu/segment":"2","subak.gpu/balanced":"true")")).pod.terms.balanced);
}

// What could not be meant, or is not built, is never passed over in silence.
TEST(PodKeys, BalancedAndSpareNeedDomains) {
  for (const char* topology : {"any", "node", "rack", "nvlink-exclusive", "prefer:rack"}) {
    const Read r(keyed(R"("subak.gpu/balanced":"true","subak.gpu/topology":")" +
                       std::string(topology) + "\""));
    EXPECT_THAT(r.mistake(), HasSubstr(R"(metadata.annotations[subak.gpu/balanced]: was "true", )"
                                       "want it beside topology nvlink or prefer:nvlink"));
  }
  EXPECT_NE(Read(keyed(R"("subak.gpu/balanced":"true")")).mistake(), "");
  EXPECT_THAT(Read(keyed(R"("subak.gpu/spare":"2")")).mistake(),
              HasSubstr(R"([subak.gpu/spare]: was "2", want it beside topology nvlink)"));
  for (const char* value : {"-1", "65", "two", ""}) {
    EXPECT_THAT(Read(keyed(R"("subak.gpu/topology":"nvlink","subak.gpu/spare":")" +
                           std::string(value) + "\""))
                    .mistake(),
                HasSubstr("want a number of nodes up to 64"));
  }
  const Read two(keyed(R"("subak.gpu/topology":"nvlink-exclusive","subak.gpu/spare":"2",
      "subak.gpu/job":"j","subak.gpu/gang-size":"2")"));
  EXPECT_EQ(two.mistake(), "");
  EXPECT_EQ(two.pod.terms.spare, 2u);
  EXPECT_EQ(Read(keyed(R"("subak.gpu/segment":"4","subak.gpu/spare":"1")")).pod.terms.spare, 1u);
  EXPECT_THAT(Read(keyed(R"("subak.gpu/topology":"nvlink","subak.gpu/spare":"2")")).mistake(),
              HasSubstr("want at most as many spare nodes as the gang has pods, 1"));
}

TEST(PodKeys, ComputeDomain) {
  const Read r(keyed(R"("subak.gpu/compute-domain":"true")"));
  EXPECT_EQ(r.mistake(), "");
  EXPECT_TRUE(r.pod.terms.compute_domain);
  EXPECT_TRUE(r.pod.not_read.keys.empty());
  EXPECT_FALSE(Read(keyed(R"("subak.gpu/compute-domain":"false")")).pod.terms.compute_domain);
  EXPECT_THAT(Read(keyed(R"("subak.gpu/compute-domain":"cd-1")")).mistake(),
              HasSubstr(R"(was "cd-1", want "true" or "false")"));
}

TEST(PodKeys, PriorityOfKubernetesIfOursIsUnset) {
  const Read r(test::pod(container("nvidia.com/gpu", "1"), R"("name":"p")", R"(,"priority":7)"));
  EXPECT_EQ(pod_record(r.pod, false).priority, 7);
}

TEST(PodKeys, TheOwnPriorityOfAPodIsItsAnnotation) {
  const auto order = [](std::string_view annotations) {
    const Read r(test::pod(container("nvidia.com/gpu", "1"),
                           R"("name":"p","annotations":{)" + std::string(annotations) + "}",
                           R"(,"priority":1000000000,"priorityClassName":"subak-gpu")"));
    EXPECT_TRUE(r.pod.not_read.keys.empty());
    return pod_record(r.pod, false).priority;
  };
  EXPECT_EQ(order(R"("subak.gpu/own-priority":"-5","subak.gpu/own-priority-class":"low")"), -5);
  EXPECT_EQ(order(R"("subak.gpu/own-priority":"0","subak.gpu/own-priority-class":"")"), 0);
  EXPECT_EQ(order(R"("subak.gpu/own-priority":"5x")"), 1'000'000'000);
  EXPECT_EQ(order(R"("subak.gpu/own-priority":"9999999999")"), 1'000'000'000);
  EXPECT_EQ(order(R"("subak.gpu/user":"ana")"), 1'000'000'000);
}

TEST(PodKeys, Mistakes) {
  for (const char* key :
       {R"("subak.gpu/topology":"nvlnk")", R"("subak.gpu/topology":"prefer:")",
        R"("subak.gpu/segment":"0")", R"("subak.gpu/segment":"-1")", R"("subak.gpu/segment":"2x")",
        R"("subak.gpu/gang-size":"0")", R"("subak.gpu/gang-size":"999999")",
        R"("subak.gpu/time-limit":"4 hours")", R"("subak.gpu/time-limit":"0s")",
        R"("subak.gpu/mixed-products":"yes")", R"("subak.gpu/balanced":"1")",
        R"("subak.gpu/job":"")"}) {
    EXPECT_FALSE(Read(keyed(key)).pod.mistakes.empty()) << key;
  }
  EXPECT_THAT(
      Read(keyed(R"("subak.gpu/topology":"nvlnk")")).mistake(),
      HasSubstr(R"(metadata.annotations[subak.gpu/topology]: was "nvlnk", want any, node)"));
}

TEST(PodKeys, LabelAndAnnotationMustAgree) {
  EXPECT_EQ(Read(keyed(R"("subak.gpu/user":"a")", R"("subak.gpu/user":"a")")).mistake(), "");
  const Read r(keyed(R"("subak.gpu/user":"b")", R"("subak.gpu/user":"a")"));
  EXPECT_THAT(
      r.mistake(),
      HasSubstr(
          R"(metadata.annotations[subak.gpu/user]: was "b", want the value of the label, "a")"));
  EXPECT_THAT(Read(keyed("", R"("subak.gpu/segment":"x")")).mistake(),
              HasSubstr(R"(metadata.labels[subak.gpu/segment]: was "x")"));
  EXPECT_EQ(r.pod.keys.user.value, "a");
}

TEST(PodNotes, WaysToAGpuWithoutARequest) {
  const auto env = [](std::string_view value) {
    return !Read(test::pod(R"({"name":"c","env":[{"name":"NVIDIA_VISIBLE_DEVICES",)" +
                           std::string(value) + "}]}"))
                .pod.containers.empty();
  };
  EXPECT_TRUE(env(R"("value":"all")"));
  EXPECT_TRUE(env(R"("value":"0")"));
  EXPECT_TRUE(env(R"("valueFrom":{"fieldRef":{}})"));
  EXPECT_FALSE(env(R"("value":"void")"));
  EXPECT_FALSE(env(R"("value":"none")"));
  EXPECT_FALSE(env(R"("value":"")"));
  EXPECT_TRUE(env(R"("value":"all"},{"name":"NVIDIA_VISIBLE_DEVICES","value":"void")"));
  const auto path = [](std::string_view p) {
    return std::string(
        Read(test::pod("{}", R"("name":"p")",
                       R"(,"volumes":[{"hostPath":{"path":")" + std::string(p) + R"("}}])"))
            .pod.nvidia_host_path);
  };
  EXPECT_EQ(path("/dev/nvidia0"), "/dev/nvidia0");
  EXPECT_EQ(path("/dev"), "/dev");
  EXPECT_EQ(path("/dev/shm"), "");
}

TEST(PodNotes, HostPathsAreReadAsPaths) {
  for (const char* path : {"/",
                           "//",
                           "/.",
                           "/dev",
                           "/dev/",
                           "//dev",
                           "/./dev/.",
                           "/dev/nvidia0",
                           "//dev/nvidia0",
                           "/dev/./nvidia0",
                           "/dev/../dev/nvidia0",
                           "/a/../dev/nvidiactl",
                           "/..",
                           "/dev/nvidia-caps/x",
                           "/dev/char",
                           "/dev/char/195:0",
                           "dev/nvidia0",
                           "/proc/1/root",
                           "/proc/self/root/dev",
                           "/proc/1/task/1/cwd"}) {
    EXPECT_TRUE(shows_gpus(path)) << path;
  }
  for (const char* path :
       {"", "/dev/shm", "/dev/infiniband", "/dev/nvidia0/../shm", "/data/dev/nvidia0", "/device",
        "/proc", "/proc/sys/net", "/var/lib/kubelet", "/home/root"}) {
    EXPECT_FALSE(shows_gpus(path)) << path;
  }
}

TEST(PodNotes, DeviceMountsAndClaims) {
  const Read mount(test::pod(
      R"({"volumeMounts":[{"name":"a","mountPath":"/var/run/nvidia-container-devices/all"}]})"));
  EXPECT_EQ(mount.pod.containers.at(0).device_mount, "/var/run/nvidia-container-devices/all");
  const auto claim = [](std::string_view container, std::string_view spec = "") {
    return Read(test::pod(container, R"("name":"p")", spec)).pod.claims.device;
  };
  EXPECT_EQ(claim("{}"), "");
  EXPECT_EQ(claim("{}", R"(,"resourceClaims":[])"), "");
  EXPECT_EQ(claim("{}", R"(,"resourceClaims":[{"name":"x"}])"), "spec.resourceClaims");
  EXPECT_EQ(claim(R"({"resources":{"claims":[{"name":"x"}]}})"),
            "spec.containers[0].resources.claims");
  EXPECT_EQ(claim(container("deviceclass.resource.kubernetes.io/gpu", "1")),
            "spec.containers[0].resources.limits[deviceclass.resource.kubernetes.io/gpu]");
  EXPECT_EQ(claim(container("deviceclass.resource.kubernetes.io/gpu", "0")), "");
}

TEST(PodOthers, ManagersAreKnownByTheirMarks) {
  const auto manager = [](std::string_view metadata, std::string_view spec = "") {
    return std::string(
        other_manager_of(Read(test::pod(container("nvidia.com/gpu", "1"), metadata, spec)).pod,
                         default_other_schedulers()));
  };
  EXPECT_EQ(manager(R"("labels":{"kueue.x-k8s.io/queue-name":"q"})"), "kueue.x-k8s.io/queue-name");
  EXPECT_EQ(manager(R"("labels":{"kai.scheduler/queue":"q"})"), "kai.scheduler/queue");
  EXPECT_EQ(manager(R"("name":"p")", R"(,"schedulerName":"volcano")"), "schedulerName");
  EXPECT_EQ(manager(R"("name":"p")", R"(,"schedulingGates":[{"name":"kueue.x-k8s.io/admission"}])"),
            "kueue.x-k8s.io/admission");
  EXPECT_EQ(manager(R"("name":"p")", R"(,"schedulerName":"default-scheduler")"), "");
}

TEST(Pod, AnythingAtAllIsReadWithoutHarm) {
  for (const char* text :
       {"{}", R"({"metadata":null,"spec":null})", R"({"spec":[]})",
        R"({"metadata":[],"spec":{"containers":{}}})",
        R"({"spec":{"containers":[null,1,"x",{"resources":[]}],"initContainers":7,
                               "affinity":"x","tolerations":{},"schedulingGates":null}})"}) {
    const Read r(text);
    EXPECT_FALSE(r.pod.asks_gpu()) << text;
  }
}

}  // namespace
}  // namespace subak
