// Effects: what should be done outside because of a fact. A function of the state: after a crash
// the edge asks Engine::outstanding and loses nothing. Delivered at least once; applying one twice
// is harmless, since each names the attempt it belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/text.h"
#include "placement/node.h"
#include "placement/request.h"
#include "queue/job.h"

namespace subak {

enum class EffectKind : std::uint8_t {
  kOpenGate,  // let these pods go to these nodes (API job: launch these ranks there)
  kEvict,     // end these pods
  // Let nobody go (Effect::keep_closed): all that there is to be done about a job of pods that waits again.
  kKeepClosed,
};
template <>
struct EnumText<EffectKind> {
  static constexpr std::array<std::string_view, 3> names{"open_gate", "evict", "keep_closed"};
};

// One pod of an effect, with everything an edge needs to act on it.
struct EffectPod {
  std::uint32_t rank = 0;
  std::string uid;   // empty for API jobs
  std::string name;  // "namespace/name"; empty for API jobs
  std::string node;  // node name
  GpuKind kind = GpuKind::kNone;
  std::int64_t gpus = 0;
  std::string profile;  // MIG
  std::uint64_t gpu_mask = 0;
  MilliGpu milligpu = 0;
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "uid", uid);
    v(3, "name", name);
    v(4, "node", node);
    v(5, "kind", kind);
    v(6, "gpus", gpus);
    v(7, "profile", profile);
    v(8, "gpu_mask", gpu_mask);
    v(9, "milligpu", milligpu);
  }
  friend bool operator==(const EffectPod&, const EffectPod&) = default;
};

// One thing to do, with all pods of a job that it is about. Plain record.
struct Effect {
  EffectKind kind = EffectKind::kOpenGate;
  ClusterId cluster;
  JobId job;
  std::uint32_t attempt = 0;
  TimeMs until_ms = 0;         // kOpenGate: when the hold is taken back
  Cause cause = Cause::kNone;  // kEvict
  std::vector<EffectPod> pods;
  // The cluster's session now, 0 if none follows it: an edge of an older one does not act.
  std::uint64_t session = 0;
  // Pods, by rank, whose places were given back while their gates were closed, with uid and name. An
  // earlier word to open them may be on its way, from this process or one that led before. So the edge writes on
  // each of them, and until that is acknowledged opens no gate for the place that it had: whatever
  // is on its way names an older version of the pod, and does nothing any more (docs/design/0070).
  std::vector<EffectPod> keep_closed;
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "cluster", cluster);
    v(3, "job", job);
    v(4, "attempt", attempt);
    v(5, "until_ms", until_ms);
    v(6, "cause", cause);
    v(7, "pods", pods);
    v(8, "session", session);
    v(9, "keep_closed", keep_closed);
  }
  friend bool operator==(const Effect&, const Effect&) = default;
};

}  // namespace subak
