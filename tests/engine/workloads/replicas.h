// A fixture for tests of workloads: Kubernetes objects whose pods are several jobs.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace subak {

// One cluster with a node of 3 GPUs, and the accounts a and b, each with one namespace. A test lets
// pods of workloads come, start and end.
class ReplicasTest : public ::testing::Test {
 protected:
  ReplicasTest() {
    apply(in::SetCluster{"k8s", Mode::kEnforce, {}, ""});
    for (const char* name : {"a", "b"}) {
      in::SetAccount set;
      set.spec.path = name;
      set.spec.shares = 1;
      set.spec.namespaces = {name};
      apply(set);
    }
    list();
  }
  void list() {
    apply(in::ListBegin{"k8s"});
    NodeSpec node;
    node.name = "n0";
    node.product = "H100";
    node.gpus = 3;
    apply(in::NodeSeen{"k8s", node});
    apply(in::ListComplete{"k8s"});
  }
  static PodRecord record(const std::string& ns, const std::string& name,
                          const std::string& workload) {
    PodRecord pod;
    pod.uid = pod.name = name;
    pod.ns = ns;
    pod.shape.kind = GpuKind::kWhole;
    pod.shape.gpus = 1;
    pod.gated = pod.controlled = true;
    if (!workload.empty()) pod.owners.workload = {"Deployment", workload, "uid-" + workload};
    return pod;
  }
  // Reports a new gated pod with one GPU. `workload`: the name of its Deployment; empty: none.
  void see(const std::string& ns, const std::string& name, const std::string& workload) {
    apply(in::PodSeen{"k8s", record(ns, name, workload)});
  }
  // Starts the jobs that can start, and lets their pods run.
  void pass() {
    for (const Effect& effect : apply(in::Pass{})) {
      if (effect.kind != EffectKind::kOpenGate) continue;
      const JobRow job = *engine_.job(effect.job, true);
      for (const PodRow& pod : job.pods) apply(in::PodBound{"k8s", {pod.uid, {}, 0}, "n0", now_});
    }
  }
  void gone(const std::string& name) {
    apply(in::PodGone{"k8s", {name, {}, 0}, ++now_, Cause::kFinished});
  }
  std::vector<Effect> apply(in::Body body) {
    Input input;
    input.time_ms = now_;
    input.body = std::move(body);
    const ApplyOutcome out = engine_.apply(input);
    EXPECT_FALSE(out.reply.error) << out.reply.error->message();
    engine_.check_invariants();
    return out.effects;
  }
  JobRow row(const std::string& name) {
    for (const JobRow& job : engine_.jobs(JobId(), 1000, std::nullopt, "")) {
      if (job.name == name) return job;
    }
    ADD_FAILURE() << "no job " << name;
    return {};
  }
  Engine engine_;
  TimeMs now_ = 1000;
};

}  // namespace subak
