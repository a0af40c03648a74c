// What a webhook-only replica follows (ClusterService.Static): the View and the configuration that
// the webhook judges by, as messages, and back; and as bytes, to be kept. A copy comes from the network
// or a disk, so what is read is bounded and checked as a whole: a tree is a tree, a namespace has one account, a product that is
// named is there. Whoever gives decide() the View of a copy gets the leader's answers.
// Threads: pure functions; a StaticAssembler is of one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/webhook.h"
#include "core/error.h"
#include "subak/v1/cluster_service.pb.h"

namespace subak::api {

// True if no review is answered otherwise by one than by the other. Cheap enough for each batch.
bool is_same_static(const View& a, const View& b);

// A whole copy, in parts of about limits::kStaticPartBytes. The View has accounts and clusters.
std::vector<v1::StaticResponse> static_parts(const View& view, const AdmissionConfig& config);

// The same as one message, and back. At most limits::kMaxStaticCopyBytes are read.
std::string static_bytes(const View& view, const AdmissionConfig& config);
Result<AdmissionBasis> read_static_bytes(std::string_view bytes);

// Puts parts together again.
class StaticAssembler {
 public:
  // The copy, once this part completes it. An error refuses the whole copy and names the field; what
  // came of it is dropped, and a part that does not begin one is an error then.
  Result<std::optional<AdmissionBasis>> take(const v1::StaticResponse& part);

 private:
  std::optional<Error> add(const v1::StaticResponse& part);

  v1::StaticResponse whole_;
  std::size_t bytes_ = 0;  // of all parts; 0: none began
};

}  // namespace subak::api
