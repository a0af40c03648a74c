// Converts refusals to gRPC statuses. A status has a code, one line of text and, in most cases,
// google.rpc details for programs in the trailer `grpc-status-details-bin` (the format is that of
// Google AIP-193). Threads: any; pure functions.
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "google/rpc/status.pb.h"
#include "server/runtime/ports.h"

namespace subak::api {

// Returns the status code of an error.
// kInvalid: INVALID_ARGUMENT. kConflict: ABORTED. kPrecondition: FAILED_PRECONDITION. kDenied:
// PERMISSION_DENIED. kExhausted: RESOURCE_EXHAUSTED. kNotFound: NOT_FOUND. kExists: ALREADY_EXISTS.
grpc::StatusCode code_of(ErrorCode code);

// Returns the message for the trailer. The answers of BatchCreateJobs and Observe also contain such
// messages. to_rpc() shortens long texts by cut_error(), since clients accept trailers of at most 8
// KiB. The details always have an ErrorInfo with the domain "subak.gpu" and the error's field, got
// and want. kInvalid also has a BadRequest, kConflict and kPrecondition have a PreconditionFailure,
// and kExhausted has a RetryInfo.
google::rpc::Status to_rpc(const Error& error);
// Returns the same as to_rpc() in the form of a gRPC status, with the details as bytes.
grpc::Status to_status(const Error& error);

// Returns the error for a full queue. As a status, this error is RESOURCE_EXHAUSTED with a
// RetryInfo. `what`: the name of the queue, such as "the mailbox".
Error busy(std::string_view what);
// Returns UNAUTHENTICATED without details. `want`: the text for the caller. There is no ErrorCode
// for this status, since only the API uses it.
grpc::Status unauthenticated(std::string_view want);
// Returns UNAVAILABLE without details, for a call that comes while the service stops. The client
// then tries again, or tries another replica.
grpc::Status shutting_down();
// Returns the refusal of a change by a replica that does not lead: UNAVAILABLE with an ErrorInfo
// NOT_LEADER. The metadata of the ErrorInfo are `epoch` and, if it is known, `leader`, which is the
// leader's address. The status has no RetryInfo, since it may be that this replica never leads.
grpc::Status not_leader(const Leadership& lead);
// Returns the refusal of a change while the database does not answer: UNAVAILABLE with an ErrorInfo
// DATABASE_AWAY and a RetryInfo. `waits_ms`: how long a commit has waited.
grpc::Status database_away(DurationMs waits_ms);
// Returns the refusal of a read that requires the fact `wanted` while this replica has facts only
// up to `seen`: UNAVAILABLE with an ErrorInfo BEHIND and a RetryInfo. The ErrorInfo has `seen` as
// the metadata `sequence`.
grpc::Status is_behind(std::uint64_t seen, std::uint64_t wanted);

}  // namespace subak::api
