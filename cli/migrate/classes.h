// Makes Subak's priority classes from Slurm's QOS and from Kueue's WorkloadPriorityClasses. The
// readers of both call it.
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "cli/migrate/migration.h"
#include "core/account_limits.h"

namespace subak::cli {

// A QOS or a WorkloadPriorityClass.
struct FoundClass {
  SourceLine at;
  // "QOS" or "WorkloadPriorityClass".
  std::string kind;
  std::string name;
  std::int64_t value = 0;
};

// Adds the class to `out.classes`, with a name that Subak accepts. A class that Subak cannot have
// goes to `out.unmatched`: one with the value of an earlier class, with a value beyond 32 bits, or
// beyond limits::kMaxPriorityClasses.
void add_class(const FoundClass& found, Migration& out);
// Sorts the classes by value. Removes a single class of value 0, which would change nothing. Call
// it after the last add_class().
void finish_classes(Migration& out);

}  // namespace subak::cli
