// The file of a change for `whatif`:
//
//   accounts:                  # as in the file of `account apply`
//     - path: ml.vision
//       shares: 3
//   policy:                    # the keys of `policy set`
//     halfLife: 3d
//   nodes:
//     - {like: node-7, count: +8}     # eight more nodes like node-7
//     - {like: node-9, count: -2}     # two nodes less that are like node-9
//     - {remove: node-3}              # may also have `cluster`
//   load:
//     - {like: ml.vision, times: 0.5} # each second job of ml.vision comes twice
//   seed: 7                           # of the load
//
// Every key is optional, and an empty file changes nothing.
// Threads: any; pure functions.
#pragma once

#include <string>

#include "subak/v1/policy_service.pb.h"

namespace subak::cli {

// Reads the file. `name`: the file's name, for errors. Throws Failure (usage) with file and line if
// the text is not YAML, if it has an unknown key, or if a value cannot be read. Whether accounts,
// nodes and keys of the policy exist is not checked.
v1::WhatIfRequest parse_change_file(const std::string& text, const std::string& name);

}  // namespace subak::cli
