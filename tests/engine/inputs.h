// Makes the inputs that tests of the engine send.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "model/input.h"

namespace subak {

inline Input at(TimeMs t, in::Body body, std::string request_id = "") {
  Input input;
  input.time_ms = t;
  input.actor = "test";
  input.request_id = std::move(request_id);
  input.body = std::move(body);
  return input;
}

// Makes the cluster "main", in mode enforce.
inline in::SetCluster main_cluster() {
  in::SetCluster out;
  out.name = "main";
  out.mode = Mode::kEnforce;
  return out;
}

// Imports the nodes n0, n1, ... into "main", each with 8 H100.
inline in::ImportNodes h100_nodes(int count) {
  in::ImportNodes out;
  out.cluster = "main";
  for (int i = 0; i < count; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.product = "H100";
    node.gpus = 8;
    out.nodes.push_back(std::move(node));
  }
  return out;
}

// Submits a job to "main": this many pods, each with this many whole GPUs.
inline in::SubmitJob job_of_pods(const std::string& account, std::uint32_t pods,
                                 std::int64_t gpus) {
  in::SubmitJob out;
  out.cluster = "main";
  out.account = account;
  out.request.groups.resize(1);
  out.request.groups[0].count = pods;
  out.request.groups[0].shape.kind = GpuKind::kWhole;
  out.request.groups[0].shape.gpus = gpus;
  return out;
}

}  // namespace subak
