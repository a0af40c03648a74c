// A line is a job class within a leaf queue: the jobs of one leaf and one kind, ordered by
// (priority desc, submit time, id). It is a treap through the slots themselves, so a line needs no
// memory of its own and any job leaves in O(log n). Its shape depends on slot numbers, its order
// never does. Private to queue.
#pragma once

#include <cstdint>
#include <vector>

#include "queue/job_table.h"

namespace subak::ready {

// 24 bytes. It has a copy of the head's sort key, so that a comparison of lines reads no slot
// unless they tie.
struct Line {
  // The number of the kind in the index.
  std::uint32_t kind = 0;
  // The root of the treap. None: the line is empty.
  std::uint32_t root = kNoSlot;
  // The first job in line.
  std::uint32_t head = kNoSlot;
  // Of the head.
  std::int32_t priority = 0;
  // Of the head.
  TimeMs submit_ms = 0;
};

// True if a comes before b in a line. A total order.
bool before(const Slot& a, const Slot& b);
// True if a's head comes before b's.
bool before(const JobTable& jobs, const Line& a, const Line& b);

// Inserts the slot, which is live and in no line.
void line_insert(JobTable& jobs, Line& line, std::uint32_t slot);
// Removes the slot, which is in this line (asserted).
void line_erase(JobTable& jobs, Line& line, std::uint32_t slot);
// Returns the slot after `slot`, which may have left the line meanwhile; kNoSlot at the end.
std::uint32_t line_after(const JobTable& jobs, const Line& line, std::uint32_t slot);
// Appends all slots in order.
void line_list(const JobTable& jobs, const Line& line, std::vector<std::uint32_t>& out);

// Asserts the invariants. Every slot is live, and of the line's kind and leaf. The list is in order
// and begins with the head. The treap keeps its heap order. O(jobs); for tests.
void line_check(const JobTable& jobs, const Line& line, AccountId leaf);

}  // namespace subak::ready
