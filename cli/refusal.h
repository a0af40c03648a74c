// Turns a gRPC status into a failure for people. Threads: none.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "cli/text/failure.h"

namespace subak::cli {

// Reads the google.rpc details of the status: the field, its value, the valid values.
Failure refusal(const grpc::Status& status, const std::string& server);

}  // namespace subak::cli
