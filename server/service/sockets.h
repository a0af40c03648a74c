// How many connections there may be: as many as core/limits.h wants, or as the system has open
// files for. Private to server/service.
#pragma once

#include <cstddef>
#include <string>

#include "admission/door.h"
#include "core/error.h"

namespace subak {

// Raises the limit of open files to kWantedFiles, or as far as the system lets us; what it is then.
std::size_t raise_open_files();

struct ConnectionLimits {
  DoorLimits webhook, grpc, http;
};

// What fits into `files` open files beside kOwnFiles and the room for probes: what core/limits.h
// wants, or the same part of all. Too few for a start: the error says how many are needed.
Result<ConnectionLimits> share_files(std::size_t files);

// As the machine is called; empty if it has no name.
std::string machine_name();

}  // namespace subak
