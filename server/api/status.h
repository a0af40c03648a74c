// Refusals as gRPC sees them: a status code, one line, and google.rpc details for programs in the
// trailer `grpc-status-details-bin` (format: Google AIP-193). Threads: pure functions.
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "google/rpc/status.pb.h"
#include "server/runtime/ports.h"

namespace subak::api {

grpc::StatusCode code_of(ErrorCode code);

// The message that the trailer carries, also used inside answers (BatchCreateJobs, Observe).
google::rpc::Status to_rpc(const Error& error);
grpc::Status to_status(const Error& error);

// A queue is full: RESOURCE_EXHAUSTED with a RetryInfo.
Error busy(std::string_view what);
// UNAUTHENTICATED has no ErrorCode: nothing below the edge says it.
grpc::Status unauthenticated(std::string_view want);
grpc::Status shutting_down();
// What changes something is not for this replica: UNAVAILABLE with an ErrorInfo NOT_LEADER, whose metadata are `leader`,
// the address of who leads, if it is known, and `epoch`.
grpc::Status not_leader(const Lead& lead);
// A commit has been waiting for the database for so long: UNAVAILABLE with an ErrorInfo DATABASE_AWAY and a RetryInfo.
grpc::Status database_away(DurationMs waits_ms);
// This replica has seen facts up to `seen`, and `wanted` was asked for: UNAVAILABLE with an ErrorInfo BEHIND and a
// RetryInfo.
grpc::Status is_behind(std::uint64_t seen, std::uint64_t wanted);

}  // namespace subak::api
