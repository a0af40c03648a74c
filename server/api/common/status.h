// Refusals as gRPC statuses: a status code, one line of text, and google.rpc details for programs
// in the trailer `grpc-status-details-bin` (format: Google AIP-193). Threads: pure functions.
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

// Returns the message that the trailer carries; also used inside answers (BatchCreateJobs,
// Observe).
// Long texts are cut (cut_error()), since clients accept trailers of 8 KiB only. The details always
// have an ErrorInfo with domain "subak.gpu" and the error's field, got and want. kInvalid also has
// a BadRequest, kConflict and kPrecondition a PreconditionFailure, kExhausted a RetryInfo.
google::rpc::Status to_rpc(const Error& error);
// Returns the same as a gRPC status, with the details as bytes.
grpc::Status to_status(const Error& error);

// Returns the refusal of a full queue: RESOURCE_EXHAUSTED with a RetryInfo.
// `what`: the queue, as in "the mailbox".
Error busy(std::string_view what);
// Returns UNAUTHENTICATED. There is no ErrorCode for it, since only the API layer uses it.
// `want`: the text for the caller. The status has no details.
grpc::Status unauthenticated(std::string_view want);
// Returns UNAVAILABLE without details. Clients then try again, or try another replica.
grpc::Status shutting_down();
// Returns the refusal of a change by a replica that does not lead: UNAVAILABLE with an ErrorInfo
// NOT_LEADER. Its metadata are `epoch` and, if known, `leader`, the leader's address.
// The status has no RetryInfo, since this replica may never lead.
grpc::Status not_leader(const Leadership& lead);
// Returns the refusal of a change while the database does not answer: UNAVAILABLE with an ErrorInfo
// DATABASE_AWAY and a RetryInfo. A commit has waited for `waits_ms`.
grpc::Status database_away(DurationMs waits_ms);
// Returns the refusal of a read that requires fact `wanted`, while this replica has facts up to
// `seen`: UNAVAILABLE with an ErrorInfo BEHIND and a RetryInfo.
// The metadata `sequence` is `seen`.
grpc::Status is_behind(std::uint64_t seen, std::uint64_t wanted);

}  // namespace subak::api
