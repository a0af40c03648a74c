// The calls that change something, as facts name them beside a request id. A request id is unique
// for one caller and method, so the same id may be used with two methods.
// Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/text.h"

namespace subak {

// The method of an input. Request ids of different methods are independent. Values are durable:
// append only.
enum class Method : std::uint8_t {
  // The input changes nothing on request, or it has no request id.
  kNone,
  kSetCluster,
  kImportNodes,
  // The two directions of in::DrainNode, by `drained`.
  kDrainNode,
  kUndrainNode,
  kSetPolicy,
  kSetAccount,
  kDeleteAccount,
  kSubmitJob,
  kCancelJob,
  // The two directions of in::HoldJob, by `held`.
  kHoldJob,
  kReleaseJob,
  kFinalize,
  kAcceptClock,
  kDeleteCluster,
};
template <>
struct EnumText<Method> {
  static constexpr std::array<std::string_view, 15> names{
      "none",       "set_cluster", "import_nodes",   "drain_node",   "undrain_node",
      "set_policy", "set_account", "delete_account", "submit_job",   "cancel_job",
      "hold_job",   "release_job", "finalize",       "accept_clock", "delete_cluster"};
};
}  // namespace subak
