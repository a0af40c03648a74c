// The calls that change something, as request ids and their facts name them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/text.h"

namespace subak {

// Which call a mutation is, as far as request ids tell calls apart. Values are durable: append
// only.
enum class Method : std::uint8_t {
  kNone,
  kSetCluster,
  kImportNodes,
  kDrainNode,
  kUndrainNode,
  kSetPolicy,
  kSetAccount,
  kDeleteAccount,
  kSubmitJob,
  kCancelJob,
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
