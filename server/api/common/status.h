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
grpc::StatusCode code_of(ErrorCode code);

// Returns the message that the trailer carries; also used inside answers (BatchCreateJobs,
// Observe).
google::rpc::Status to_rpc(const Error& error);
grpc::Status to_status(const Error& error);

// The refusal of a full queue: RESOURCE_EXHAUSTED with a RetryInfo.
Error busy(std::string_view what);
// UNAUTHENTICATED. There is no ErrorCode for it, since only the API layer uses it.
grpc::Status unauthenticated(std::string_view want);
grpc::Status shutting_down();
// The refusal of a change by a replica that does not lead: UNAVAILABLE with an ErrorInfo
// NOT_LEADER. Its metadata are `epoch` and, if known, `leader`, the leader's address.
grpc::Status not_leader(const Leadership& lead);
// The refusal while a commit has waited for the database for `waits_ms`: UNAVAILABLE with an
// ErrorInfo DATABASE_AWAY and a RetryInfo.
grpc::Status database_away(DurationMs waits_ms);
// The refusal of a read that requires fact `wanted` on a replica that has facts up to `seen`:
// UNAVAILABLE with an ErrorInfo BEHIND and a RetryInfo.
grpc::Status is_behind(std::uint64_t seen, std::uint64_t wanted);

}  // namespace subak::api
