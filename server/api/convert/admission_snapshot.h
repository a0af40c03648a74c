// Writes and reads the copy of the leader's data that a webhook-only replica gets
// (ClusterService.Static). The copy has the part of the View and of the configuration by which the
// webhook decides, as messages or as bytes to store. With the View of a copy, decide() gives the
// same answers as on the leader.
//
// A copy comes from the network or a disk, so the reader limits its size and checks the complete
// copy. For example, the reader refuses accounts that form no tree, a namespace that belongs to two
// accounts, and a product that does not exist. Threads: any; pure functions. An
// AdmissionSnapshotAssembler is used by one thread at a time.
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

// Returns true if the webhook decides every review the same way by `a` as by `b`. The function is
// cheap, so the service calls it for each batch. It compares accounts by their address in memory,
// since Views share the accounts that did not change.
bool is_same_admission_snapshot(const View& a, const View& b);

// Returns a complete copy in parts of about limits::kAdmissionSnapshotPartBytes. The View must have
// accounts and clusters. The first part has `begins` set, and has the rules of the configuration.
// The last part has `complete` set. Each part has the View's sequence.
std::vector<v1::StaticResponse> admission_snapshot_parts(const View& view,
                                                         const AdmissionConfig& config);

// admission_snapshot_bytes() writes the copy as the bytes of one message, and
// read_admission_snapshot() reads these bytes. The reader accepts at most
// limits::kMaxAdmissionSnapshotBytes. The error has the field "copy" if the bytes are too many, are
// not a message, or are not a complete copy. Other errors name the field of the message.
std::string admission_snapshot_bytes(const View& view, const AdmissionConfig& config);
Result<AdmissionBasis> read_admission_snapshot(std::string_view bytes);

// Assembles a copy from its parts. take() refuses the copy if its parts have different sequences,
// or if a part after the first has `begins` set. The parts may have at most
// limits::kMaxAdmissionSnapshotBytes in all.
class AdmissionSnapshotAssembler {
 public:
  // Adds a part. Returns the copy if `part` completes it; nullopt: further parts must follow. An
  // error names the field. After an error, all parts so far are dropped, and the next part must
  // begin a new copy.
  Result<std::optional<AdmissionBasis>> take(const v1::StaticResponse& part);

 private:
  // Checks that the part fits the parts before it, and merges it into the copy.
  std::optional<Error> add(const v1::StaticResponse& part);

  v1::StaticResponse whole_;
  std::size_t bytes_ = 0;  // of all parts so far; 0: no copy has begun
};

}  // namespace subak::api
