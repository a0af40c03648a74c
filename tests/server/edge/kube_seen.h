// A fixture with the edge's cache and plan of writes, without I/O. A test reports objects of a
// cluster, sets the wanted effects, and reads what the edge would write next.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "server/edge/cache/cluster_cache.h"
#include "server/edge/writes/plan.h"

namespace subak {

inline constexpr TimeMs kNow = 1'000'000;

struct PodText {
  std::string uid;
  int version = 1;
  bool gated = true;
  std::string node{}, owner{}, phase = "Pending", more_gates{}, meta{}, status{};
  int gang = 1;
};

inline std::string text_of(const PodText& p) {
  std::string gates = p.gated ? R"({"name":"subak.gpu/queue"})" : "";
  gates += p.more_gates;
  const std::string owner =
      p.owner.empty()
          ? ""
          : R"(,"ownerReferences":[{"controller":true,"apiVersion":"batch/v1","kind":"Job","name":"j","uid":")" +
                p.owner + "\"}]";
  const std::string labels = p.gang > 1
                                 ? R"(,"labels":{"subak.gpu/job":"g","subak.gpu/gang-size":")" +
                                       std::to_string(p.gang) + "\"}"
                                 : "";
  return R"({"metadata":{"uid":")" + p.uid + R"(","namespace":"a","name":"p)" + p.uid +
         R"(","resourceVersion":")" + std::to_string(p.version) + "\"" + owner + labels + p.meta +
         R"(},"spec":{"nodeName":")" + p.node + R"(","schedulingGates":[)" + gates +
         R"(],"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},)" +
         R"("status":{"phase":")" + p.phase + "\"" + p.status + "}}";
}

class Kube : public ::testing::Test {
 protected:
  // Makes a watch event. Its object is valid until the next call of event().
  WatchEvent event(const std::string& text, WatchKind kind = WatchKind::kModified) {
    WatchEvent out;
    out.kind = kind;
    out.object = objects_.parse(text);
    return out;
  }
  void see(const PodText& pod, WatchKind kind = WatchKind::kModified) {
    see_text(text_of(pod), kind);
  }
  void see_text(const std::string& text, WatchKind kind = WatchKind::kModified) {
    cache.see_pod(event(text, kind), monotonic);
  }
  void see_answered(const PodText& pod) {
    cache.see_answered_pod(parser_.parse(text_of(pod)), monotonic);
  }
  void see_node(const std::string& name, WatchKind kind = WatchKind::kModified,
                const std::string& more = "") {
    WatchEvent seen = event(R"({"metadata":{"name":")" + name + "\"}" + more + "}", kind);
    seen.resource_version = json::text(seen.object, "version");
    cache.see_node(seen, kNow);
  }
  void see_job(const std::string& uid, int parallelism, bool suspended = false,
               const std::string& mark = "") {
    const std::string notes =
        mark.empty() ? "" : R"(,"annotations":{"subak.gpu/suspended":")" + mark + "\"}";
    const std::string text = R"({"metadata":{"uid":")" + uid +
                             R"(","namespace":"a","name":"j","resourceVersion":"5")" + notes +
                             R"(},"spec":{"parallelism":)" + std::to_string(parallelism) +
                             R"(,"suspend":)" + (suspended ? "true" : "false") + "}}";
    see_owner(text);
  }
  void see_owner(const std::string& text) { cache.see_owner(event(text), kJobsPath); }
  // Returns an Indexed Job "j" with uid I. `more`: fields of its spec, each with a comma after it.
  static std::string indexed(int pods, const std::string& more, const std::string& status = "{}") {
    const std::string n = std::to_string(pods);
    return R"({"metadata":{"uid":"I","namespace":"a","name":"j"},"spec":{"completionMode":"Indexed","parallelism":)" +
           n + R"(,"completions":)" + n + "," + more +
           R"("template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}},"status":)" +
           status + "}";
  }
  void see_answered_owner(const std::string& text) {
    cache.see_answered_owner(parser_.parse(text), kJobsPath);
  }
  // Marks outdated nodes and pods in the cache, as ObjectReads of the edge does in each turn.
  void outdate() {
    for (const std::string& node : cache.needs().claims().devices().take_changed_nodes()) {
      cache.nodes().put_changed(node);
    }
    for (const std::string& uid : cache.needs().claims().take_outdated())
      cache.marks().put_outdated(uid);
  }
  std::vector<std::string> told() {
    std::vector<std::string> out;
    while (auto news = cache.outbox().next(Outbox::kAllPodsKnown)) {
      out.push_back(
          std::visit([](const auto& body) { return std::string(body.kName); }, news->body) + " " +
          news->uid);
      cache.outbox().answered(news->uid);
    }
    return out;
  }
  void want(EffectKind kind, std::uint32_t job, const std::vector<std::string>& uids,
            Cause cause = Cause::kNone) {
    Wanted& wanted = jobs[JobId(ClusterId(1), job)];
    wanted.order = ++order_;
    const TimeMs until = kind == EffectKind::kOpenGate ? kNow + 1000 : 0;
    wanted.effect = {kind, ClusterId(1), JobId(ClusterId(1), job), 1, until, cause, {}, 0, {}};
    for (const std::string& uid : uids) {
      EffectPod& pod = wanted.effect.pods.emplace_back();
      pod.uid = uid;
      pod.node = "n1";
    }
  }
  std::vector<std::string> plan(std::size_t most = 100, TimeMs now = kNow) {
    fence.prune(cache);
    last = plan_writes(jobs, fence, cache, attempts, now, monotonic, most);
    std::vector<std::string> out;
    for (const KubeWrite& w : last.writes) {
      out.push_back(std::string(enum_name(w.kind)) + " " + w.uid);
    }
    return out;
  }

  ClusterCache cache{"east", {}, default_other_schedulers()};
  WantedJobs jobs;
  Fence fence;
  Attempts attempts;
  Plan last;
  std::int64_t monotonic = 50'000;
  int version_ = 100;  // the version of the next pod

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::parser objects_;
  std::uint64_t order_ = 0;
};

}  // namespace subak
