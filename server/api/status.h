// Refusals as gRPC sees them: a status code, one line, and google.rpc details for programs in the
// trailer `grpc-status-details-bin` (format: Google AIP-193). Threads: pure functions.
#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

#include "core/error.h"
#include "google/rpc/status.pb.h"

namespace subak::api {

grpc::StatusCode code_of(ErrorCode code);

// The message that the trailer carries, also used inside answers (BatchCreateJobs, Observe).
google::rpc::Status to_rpc(const Error& error);
grpc::Status to_status(const Error& error);

// A queue is full: RESOURCE_EXHAUSTED with a RetryInfo.
Error busy(std::string_view what);
// UNAUTHENTICATED and UNIMPLEMENTED have no ErrorCode: nothing below the edge says them.
grpc::Status unauthenticated(std::string_view want);
grpc::Status not_in_this_version();
grpc::Status shutting_down();

}  // namespace subak::api
