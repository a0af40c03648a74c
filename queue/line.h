// A line is a job class: the waiting jobs of one account or user (their leaf) and one kind, ordered
// by (priority from high to low, submit time, id). A kind is a request shape that has waiting jobs.
// A line is a treap, which is a search tree kept balanced by pseudo-random weights. Its links are
// in the jobs' slots of the table. So a line needs no further memory, and any job leaves its line
// in O(log n). The form of the treap depends on slot numbers, but the order of jobs never does.
// Threads: one at a time; ready::Index owns the lines. Private to queue.
#pragma once

#include <cstdint>
#include <vector>

#include "queue/job_table.h"

namespace subak::ready {

// One line, in 24 bytes. A line has a copy of its first job's sort key. A comparison of two lines
// reads slots only if these copies are equal.
struct Line {
  // The number of the kind in the index.
  std::uint32_t kind = 0;
  // The slot at the root of the treap. kNoSlot: the line is empty.
  std::uint32_t root = kNoSlot;
  // The slot of the first job.
  std::uint32_t head = kNoSlot;
  // The priority of the first job.
  std::int32_t priority = 0;
  // The submit time of the first job.
  TimeMs submit_ms = 0;
};

// True if slot `a` comes before slot `b` in a line. No two jobs are equal in this order.
bool before(const Slot& a, const Slot& b);
// True if the first job of line `a` comes before the first job of line `b`.
bool before(const JobTable& jobs, const Line& a, const Line& b);

// Inserts the slot into the line. The slot must be live and in no line. O(log n).
void line_insert(JobTable& jobs, Line& line, std::uint32_t slot);
// Removes the slot from the line. The slot must be in this line (asserted).
void line_erase(JobTable& jobs, Line& line, std::uint32_t slot);
// Returns the first slot of the line that comes after `slot` in the order; kNoSlot at the end.
// `slot` itself may have left the line.
std::uint32_t line_after(const JobTable& jobs, const Line& line, std::uint32_t slot);
// Appends all slots of the line to `out`, in the order of the line.
void line_list(const JobTable& jobs, const Line& line, std::vector<std::uint32_t>& out);

// Asserts the invariants of a line. Every slot is live, and has the line's kind and leaf. The slots
// are in order, and `head` is the first slot. The treap has its heap order. O(jobs); for tests.
void line_check(const JobTable& jobs, const Line& line, AccountId leaf);

}  // namespace subak::ready
