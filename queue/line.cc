#include "queue/line.h"

#include <cassert>

#include "core/must.h"

namespace subak::ready {
namespace {

// The treap's heap order: a fixed scramble of the slot number.
std::uint32_t weight(std::uint32_t slot) {
  std::uint32_t x = slot * 0x9e37'79b1u;
  x ^= x >> 15;
  x *= 0x85eb'ca6bu;
  return x ^ (x >> 13);
}

bool above(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t wa = weight(a), wb = weight(b);
  return wa != wb ? wa > wb : a > b;
}

// Splits the tree: everything before `slot` goes to *less, the rest to *rest.
void split(JobTable& jobs, std::uint32_t root, std::uint32_t slot, std::uint32_t* less,
           std::uint32_t* rest) {
  while (root != kNoSlot) {
    if (before(jobs[root], jobs[slot])) {
      *less = root;
      less = &jobs[root].right;
      root = *less;
    } else {
      *rest = root;
      rest = &jobs[root].left;
      root = *rest;
    }
  }
  *less = kNoSlot;
  *rest = kNoSlot;
}

std::uint32_t merge(JobTable& jobs, std::uint32_t a, std::uint32_t b) {
  std::uint32_t root = kNoSlot;
  std::uint32_t* to = &root;
  while (a != kNoSlot && b != kNoSlot) {
    if (above(a, b)) {
      *to = a;
      to = &jobs[a].right;
      a = *to;
    } else {
      *to = b;
      to = &jobs[b].left;
      b = *to;
    }
  }
  *to = a != kNoSlot ? a : b;
  return root;
}

void set_head(const JobTable& jobs, Line& line, std::uint32_t slot) {
  must(jobs[slot].live, "the head is a waiting job");
  line.head = slot;
  line.priority = jobs[slot].priority;
  line.submit_ms = jobs[slot].submit_ms;
}

void find_head(const JobTable& jobs, Line& line) {
  line.head = line.root;
  if (line.head == kNoSlot) return;
  while (jobs[line.head].left != kNoSlot) line.head = jobs[line.head].left;
  set_head(jobs, line, line.head);
}

}  // namespace

bool before(const Slot& a, const Slot& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.submit_ms != b.submit_ms) return a.submit_ms < b.submit_ms;
  return a.id < b.id;
}

bool before(const JobTable& jobs, const Line& a, const Line& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.submit_ms != b.submit_ms) return a.submit_ms < b.submit_ms;
  return jobs[a.head].id < jobs[b.head].id;
}

void line_insert(JobTable& jobs, Line& line, std::uint32_t slot) {
  must(jobs[slot].live && slot != line.head, "a job joins its line once");
  std::uint32_t* at = &line.root;
  while (*at != kNoSlot && above(*at, slot)) {
    at = before(jobs[*at], jobs[slot]) ? &jobs[*at].right : &jobs[*at].left;
  }
  std::uint32_t left = kNoSlot, right = kNoSlot;
  split(jobs, *at, slot, &left, &right);
  jobs[slot].left = left;
  jobs[slot].right = right;
  *at = slot;
  if (line.head == kNoSlot || before(jobs[slot], jobs[line.head])) {
    set_head(jobs, line, slot);
  }
}

void line_erase(JobTable& jobs, Line& line, std::uint32_t slot) {
  std::uint32_t* at = &line.root;
  while (*at != slot) {
    assert(*at != kNoSlot);
    at = before(jobs[*at], jobs[slot]) ? &jobs[*at].right : &jobs[*at].left;
  }
  *at = merge(jobs, jobs[slot].left, jobs[slot].right);
  jobs[slot].left = jobs[slot].right = kNoSlot;
  if (line.head == slot) find_head(jobs, line);
  must(line.head != slot, "who left is not the head");
  must((line.root == kNoSlot) == (line.head == kNoSlot), "a line with jobs has a head");
}

std::uint32_t line_after(const JobTable& jobs, const Line& line, std::uint32_t slot) {
  std::uint32_t found = kNoSlot;
  for (std::uint32_t at = line.root; at != kNoSlot;) {
    if (before(jobs[slot], jobs[at])) {
      found = at;
      at = jobs[at].left;
    } else {
      at = jobs[at].right;
    }
  }
  return found;
}

void line_list(const JobTable& jobs, const Line& line, std::vector<std::uint32_t>& out) {
  const std::size_t first = out.size();
  std::vector<std::uint32_t> open;
  for (std::uint32_t at = line.root; at != kNoSlot || !open.empty();) {
    if (at != kNoSlot) {
      open.push_back(at);
      at = jobs[at].left;
      continue;
    }
    at = open.back();
    open.pop_back();
    out.push_back(at);
    at = jobs[at].right;
  }
  must(line.root == kNoSlot || out[first] == line.head, "a line begins with its head");
}

void line_check(const JobTable& jobs, const Line& line, AccountId leaf) {
  std::vector<std::uint32_t> slots;
  line_list(jobs, line, slots);
  assert(!slots.empty() && slots.front() == line.head);
  assert(line.priority == jobs[line.head].priority);
  assert(line.submit_ms == jobs[line.head].submit_ms);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = jobs[slots[i]];
    assert(slot.live && slot.kind == line.kind && slot.leaf == leaf);
    assert(i == 0 || before(jobs[slots[i - 1]], slot));
    assert(slot.left == kNoSlot || above(slots[i], slot.left));
    assert(slot.right == kNoSlot || above(slots[i], slot.right));
  }
}

}  // namespace subak::ready
