// A gRPC status as what a person needs to read. Threads: none.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "cli/failure.h"

namespace subak::cli {

// Reads the google.rpc details that came with it: the field, what it was, what it should be.
Failure refusal(const grpc::Status& status, const std::string& server);

}  // namespace subak::cli
