// The methods of calls that change something, and the stamp of an edit: who made it and why. Facts
// (the engine's durable records) store the method next to the request id (an idempotency key),
// because a request id is unique only for one caller and method.
// Threads: any; plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/text.h"

namespace subak {

// The method of an input. Request ids of different methods are independent. Values are durable:
// append only.
enum class Method : std::uint8_t {
  // The input is not a call that changes something, or it has no request id.
  kNone,
  kSetCluster,
  kImportNodes,
  // The two uses of in::DrainNode: `drained` is true or false.
  kDrainNode,
  kUndrainNode,
  kSetPolicy,
  kSetAccount,
  kDeleteAccount,
  kSubmitJob,
  kCancelJob,
  // The two uses of in::HoldJob: `held` is true or false.
  kHoldJob,
  kReleaseJob,
  kFinalize,
  kAcceptClock,
  kDeleteCluster,
  kApplyAccounts,
  kMoveAccount,
};
template <>
struct EnumText<Method> {
  static constexpr std::array<std::string_view, 17> names{
      "none",           "set_cluster", "import_nodes",   "drain_node",   "undrain_node",
      "set_policy",     "set_account", "delete_account", "submit_job",   "cancel_job",
      "hold_job",       "release_job", "finalize",       "accept_clock", "delete_cluster",
      "apply_accounts", "move_account"};
};

// The author, reason and request of an edit. Every edit has a stamp, so that the facts contain the
// audit log.
struct EditStamp {
  // The caller's name, as the service authenticated it ("token:ci", "loopback").
  std::string actor;
  // The reason for the edit: free text of the caller. For Subak's own edit, Subak writes the text.
  std::string reason;
  std::string request_id;
  // The method of the call, and the digest of its content (core/content_hash.h). Both are set only
  // with a request id.
  Method method = Method::kNone;
  std::uint64_t content = 0;
  // How many facts of the same edit follow. Only an edit of several accounts has several facts with
  // a stamp.
  std::uint32_t following = 0;
  // The `managed-by` mark of the account, if the edit overrides it. Empty: it overrides none.
  std::string overrides{};
  template <class V>
  void fields(V& v) {
    v(1, "actor", actor);
    v(2, "reason", reason);
    v(3, "request_id", request_id);
    v(4, "method", method);
    v(5, "content", content);
    v(6, "following", following);
    v(7, "overrides", overrides);
  }
  friend bool operator==(const EditStamp&, const EditStamp&) = default;
};
}  // namespace subak
