// Reviews that take the webhook as long as possible for their size, and a function that measures
// one. The test of the complexity, the benchmark and the fuzzer use them.
#pragma once

#include <ctime>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fixture.h"

namespace subak::test {

// The cost of one review: parse, decide, write the answer. As in the webhook, the parser lives
// longer. `ns`: processor time of this thread, so that other programs hardly count.
struct Cost {
  double ns = 0;
  std::size_t answer_bytes = 0;
  std::size_t warnings = 0;
};
inline double thread_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
inline Cost cost_of(const View& view, std::string& review, Endpoint endpoint) {
  static ReviewParser parser;
  static const AdmissionConfig config;
  review.reserve(review.size() + kBodyPadding);
  Cost cost;
  const double begin = thread_ns();
  const auto parsed = parser.parse({review.data(), review.size()});
  if (parsed.ok()) {
    Decision d = decide(view, config, "c1", endpoint, *parsed);
    cost.warnings = d.warnings.size();
    cost.answer_bytes = write_answer(parsed->uid, std::move(d).answer()).size();
  }
  cost.ns = thread_ns() - begin;
  return cost;
}
// Returns the least ns of several tries, because disturbances only add time.
inline double least_ns(const View& view, std::string& review, Endpoint endpoint, int tries) {
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < tries; ++i) least = std::min(least, cost_of(view, review, endpoint).ns);
  return least;
}

inline std::string joined(std::size_t n, const std::function<std::string(std::size_t)>& item) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) out += ',';
    out += item(i);
  }
  return out;
}

struct Hostile {
  std::string name;
  Endpoint endpoint = Endpoint::kMutate;
  std::function<std::string(std::size_t)> review;  // returns the review with n repeated parts
};
inline void PrintTo(const Hostile& of, std::ostream* out) { *out << of.name; }

namespace hostile {

inline std::string num(std::size_t i) { return std::to_string(i); }
inline std::string gpu_container() { return container("nvidia.com/gpu", "1"); }
// Returns a container that requests the resource a.com/rI, which no other container requests.
inline std::string with_resource(std::size_t i, std::string_view more = "") {
  return R"({"name":"c","resources":{"limits":{"a.com/r)" + num(i) + R"(":"1"}})" +
         std::string(more) + "}";
}
inline std::string annotated(const std::string& members) {
  return review_text(pod(gpu_container(), R"("name":"p","annotations":{)" + members + "}"));
}
inline std::string spec(const std::string& more) {
  return review_text(pod(gpu_container(), R"("name":"p")", "," + more));
}
inline std::string jobset(const std::string& jobs) {
  return review_text(R"({"metadata":{"name":"s"},"spec":{)" + jobs + "}}", "team-a", "ana",
                     "CREATE", "null",
                     R"({"group":"jobset.x-k8s.io","version":"v1alpha2","kind":"JobSet"})");
}
inline std::string relabelled(std::size_t n) {
  const auto of = [&](std::string_view value) {
    return pod(gpu_container(),
               R"("name":"p","labels":{"subak.gpu/job":"j",)" + joined(n, [&](std::size_t i) {
                 return "\"subak.gpu/x" + num(i) + "\":\"" + std::string(value) + "\"";
               }) + "}");
  };
  return review_text(of("1"), "team-a", "ana", "UPDATE", of("1"));
}
inline std::string debugged(std::size_t n) {
  const auto of = [&](std::size_t many) {
    return pod(gpu_container(), R"("name":"p")",
               R"(,"ephemeralContainers":[)" + joined(many, [](std::size_t i) {
                 return R"({"name":"d)" + num(i) + R"(","securityContext":{"privileged":true}})";
               }) + "]");
  };
  std::string text = review_text(of(n), "team-a", "ana", "UPDATE", of(n));
  text.insert(text.find(R"("namespace")"), R"("subResource":"ephemeralcontainers",)");
  return text;
}

using Shapes = std::vector<Hostile>;
inline void add(Shapes& all, std::string name, std::function<std::string(std::size_t)> make,
                Endpoint endpoint = Endpoint::kMutate) {
  all.push_back({std::move(name), endpoint, std::move(make)});
}

inline void add_resources(Shapes& all) {
  const auto resources = [](const std::string& list) {
    return review_text(
        pod(R"({"name":"c","resources":{"limits":{)" + list + R"(},"requests":{)" + list + "}}}"));
  };
  add(all, "sidecars with a resource each", [](std::size_t n) {
    return spec(
        R"("initContainers":[)" +
        joined(n, [](std::size_t i) { return with_resource(i, R"(,"restartPolicy":"Always")"); }) +
        "]");
  });
  add(all, "init containers after as many sidecars", [](std::size_t n) {
    return spec(R"("initContainers":[)" +
                joined(n,
                       [&](std::size_t i) {
                         return with_resource(i, i < n / 2 ? R"(,"restartPolicy":"Always")" : "");
                       }) +
                "]");
  });
  add(all, "containers with a resource each", [](std::size_t n) {
    return review_text(
        pod(gpu_container() + "," + joined(n, [](std::size_t i) { return with_resource(i); })));
  });
  add(all, "one container with many resources", [resources](std::size_t n) {
    return resources(joined(n, [](std::size_t i) { return "\"a.com/r" + num(i) + R"(":"1")"; }));
  });
  add(all, "many GPU kinds", [resources](std::size_t n) {
    return resources(
        joined(n, [](std::size_t i) { return "\"nvidia.com/mig-" + num(i) + R"(":"1")"; }));
  });
  add(all, "many GPU kinds, one of a long name", [resources](std::size_t n) {
    return resources(
        "\"nvidia.com/mig-" + std::string(20 * n, '0') + R"(":"1",)" +
        joined(n, [](std::size_t i) { return "\"nvidia.com/mig-1" + num(i) + R"(":"1")"; }));
  });
  add(all, "many mistakes", [](std::size_t n) {
    return review_text(pod(joined(n, [](std::size_t) {
      return std::string(R"({"resources":{"limits":{"nvidia.com/gpu":"x"}}})");
    })));
  });
}

inline void add_lists(Shapes& all) {
  add(all, "keys of ours on both sides", relabelled, Endpoint::kValidate);
  add(all, "unknown keys", [](std::size_t n) {
    return annotated(joined(n, [](std::size_t i) { return "\"subak.gpu/k" + num(i) + R"(":"")"; }));
  });
  add(all, "labels", [](std::size_t n) {
    return annotated(joined(n, [](std::size_t i) { return "\"k" + num(i) + R"(":"")"; }));
  });
  add(all, "tolerations", [](std::size_t n) {
    return spec(R"("tolerations":[)" + joined(n, [](std::size_t) { return std::string("{}"); }) +
                "]");
  });
  add(all, "affinity values", [](std::size_t n) {
    return spec(
        R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
        R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"nvidia.com/gpu.product","operator":"In","values":[)" +
        joined(n, [](std::size_t i) { return "\"p" + num(i) + "\""; }) + "]}]}]}}}");
  });
  add(all, "ports", [](std::size_t n) {
    return review_text(
        pod(container("nvidia.com/gpu", "1", R"(,"ports":[)" + joined(n, [](std::size_t) {
                                               return std::string(R"({"hostPort":1})");
                                             }) + "]")));
  });
  add(all, "gates", [](std::size_t n) {
    return spec(R"("schedulingGates":[)" +
                joined(n, [](std::size_t) { return std::string("{}"); }) + "]");
  });
}

inline void add_others(Shapes& all) {
  add(all, "volumes", [](std::size_t n) {
    return spec(
        R"("volumes":[)" +
        joined(n, [](std::size_t) { return std::string(R"({"hostPath":{"path":"/./a/../b"}})"); }) +
        "]");
  });
  add(all, "one long host path", [](std::size_t n) {
    std::string path;
    for (std::size_t i = 0; i < n; ++i) path += "/a/..";
    return spec(R"("volumes":[{"hostPath":{"path":")" + path + R"(/dev/x"}}])");
  });
  add(all, "empty containers", [](std::size_t n) {
    return review_text(
        pod(gpu_container() + "," + joined(n, [](std::size_t) { return std::string("{}"); })));
  });
  add(all, "containers that are warned of", [](std::size_t n) {
    return review_text(pod(gpu_container() + "," + joined(n, [](std::size_t) {
                             return std::string(R"({"resources":{"limits":{"rdma/x":1}}})");
                           })));
  });
  add(all, "debug containers", debugged);
  add(all, "owner references", [](std::size_t n) {
    return review_text(
        pod(gpu_container(), R"("name":"p","ownerReferences":[)" + joined(n, [](std::size_t) {
                               return std::string(R"({"controller":true})");
                             }) + "]"));
  });
  add(all, "a long user name", [](std::size_t n) {
    return review_text(pod(gpu_container()), "team-a", std::string(n * 8, 'u'));
  });
  add(all, "many templates", [](std::size_t n) {
    return jobset(R"("replicatedJobs":[)" +
                  joined(n, [](std::size_t) { return pod(gpu_container()); }) + "]");
  });
  add(all, "many templates below a long name", [](std::size_t n) {
    return jobset(
        "\"" + std::string(100 * n, 'k') + "\":[" +
        joined(n,
               [](std::size_t) {
                 return std::string(
                     R"({"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":1}}}]}})");
               }) +
        "]");
  });
  add(all, "many objects below a long name", [](std::size_t n) {
    return jobset("\"" + std::string(10 * n, 'k') + "\":[" +
                  joined(n, [](std::size_t) { return std::string("{}"); }) + "]");
  });
}

}  // namespace hostile

inline std::vector<Hostile> hostile_reviews() {
  std::vector<Hostile> all;
  hostile::add_resources(all);
  hostile::add_lists(all);
  hostile::add_others(all);
  return all;
}

// Returns the review with so many repeated parts that it has about `bytes` bytes.
inline std::string hostile_text(const Hostile& of, std::size_t bytes) {
  constexpr std::size_t kProbe = 256;
  const std::size_t fixed = of.review(1).size();
  return of.review(
      std::max<std::size_t>(2, bytes * (kProbe - 1) / (of.review(kProbe).size() - fixed)));
}

}  // namespace subak::test
