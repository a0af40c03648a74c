// The copy that a webhook-only replica follows (ClusterService.Static). It holds the View and the
// configuration that the webhook judges by, as messages or as bytes to store. With the View of a
// copy, decide() gives the leader's answers.
//
// A copy comes from the network or a disk, so reading it is bounded and it is checked as a whole.
// The accounts form a tree, a namespace has one account, and a named product exists. Threads: pure
// functions; an AdmissionSnapshotAssembler belongs to one thread.
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

// True if no review has different answers under `a` and `b`. Cheap enough for each batch.
// Accounts are compared by identity: Views share what did not change.
bool is_same_admission_snapshot(const View& a, const View& b);

// Returns a complete copy in parts of about limits::kAdmissionSnapshotPartBytes. The View has
// accounts and clusters.
// The first part `begins` and has the rules, the last is `complete`. All have the View's sequence.
std::vector<v1::StaticResponse> admission_snapshot_parts(const View& view,
                                                         const AdmissionConfig& config);

// The copy as one message, written and read. At most limits::kMaxAdmissionSnapshotBytes are read.
// The error has field "copy" for bytes that are no message, are too many, or are not complete; else
// it names the field.
std::string admission_snapshot_bytes(const View& view, const AdmissionConfig& config);
Result<AdmissionBasis> read_admission_snapshot(std::string_view bytes);

// Assembles the parts of a copy.
// A part of another sequence, or a second beginning, refuses the copy. Memory: at most
// limits::kMaxAdmissionSnapshotBytes of parts.
class AdmissionSnapshotAssembler {
 public:
  // Returns the copy once `part` completes it. An error names the field and refuses the whole copy.
  // The assembler then drops the parts so far, and the next part must begin a copy.
  Result<std::optional<AdmissionBasis>> take(const v1::StaticResponse& part);

 private:
  // Checks the part against those before it, and merges it.
  std::optional<Error> add(const v1::StaticResponse& part);

  v1::StaticResponse whole_;
  std::size_t bytes_ = 0;  // of all parts; 0: no copy begun
};

}  // namespace subak::api
