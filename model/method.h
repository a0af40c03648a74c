// The mutating calls, as request ids and their facts name them. A request id is unique for one
// caller and method, so the same id may be used with two methods.
// Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/text.h"

namespace subak {

// The method of a mutation, as far as request ids distinguish methods. Values are durable: append
// only.
enum class Method : std::uint8_t {
  // The input is no mutation, or it carries no request id.
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
