// The copy that a webhook-only replica follows (ClusterService.Static). It has the View and the
// configuration by which the webhook decides, as messages or as bytes to store. With the View of a
// copy, decide() gives the same answers as on the leader.
//
// A copy comes from the network or a disk, so the reader limits its size and checks the complete
// copy. The reader refuses accounts that form no tree, a namespace of two accounts, and a product
// that does not exist. Threads: pure functions; an AdmissionSnapshotAssembler
// belongs to one thread.
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

// Returns true if `a` and `b` lead to the same answer for each review. The call is cheap, so the
// service makes it for each batch.
// It compares accounts by address, since Views share accounts that did not change.
bool is_same_admission_snapshot(const View& a, const View& b);

// Returns a complete copy in parts of about limits::kAdmissionSnapshotPartBytes. The View must have
// accounts and clusters.
// The first part has `begins` set and contains the rules. The last has `complete` set. All have the
// View's sequence.
std::vector<v1::StaticResponse> admission_snapshot_parts(const View& view,
                                                         const AdmissionConfig& config);

// Write and read the copy as one message. The reader takes at most
// limits::kMaxAdmissionSnapshotBytes. The error has field "copy" if the bytes are no message, are
// too many, or are not a complete copy. Other errors name the field.
std::string admission_snapshot_bytes(const View& view, const AdmissionConfig& config);
Result<AdmissionBasis> read_admission_snapshot(std::string_view bytes);

// Assembles the parts of a copy.
// take() refuses the copy if a part has another sequence, or if a later part also says `begins`.
// Memory: at most limits::kMaxAdmissionSnapshotBytes of parts.
class AdmissionSnapshotAssembler {
 public:
  // Adds a part. Returns the copy if `part` completes it. An error names the field. After an error
  // the assembler drops all parts so far, and the next part must begin a copy.
  Result<std::optional<AdmissionBasis>> take(const v1::StaticResponse& part);

 private:
  // Checks that the part fits those before it, and merges it into the copy.
  std::optional<Error> add(const v1::StaticResponse& part);

  v1::StaticResponse whole_;
  std::size_t bytes_ = 0;  // of all parts; 0: no copy begun
};

}  // namespace subak::api
