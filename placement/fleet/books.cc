// The GPU time of nodes (NodeBooks).
#include <algorithm>

#include "core/must.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {
namespace {

void add(NodeBooks& books, const NodeLevels& levels, DurationMs span) {
  books.installed += GpuTime::of(levels.installed, span);
  books.allocated += GpuTime::of(levels.allocated, span);
  books.idle += GpuTime::of(levels.idle, span);
  books.stranded += GpuTime::of(levels.stranded, span);
  books.unusable += GpuTime::of(levels.unusable, span);
  books.overcommitted += GpuTime::of(levels.overcommitted, span);
}

// True if the identity of NodeBooks holds.
bool closes(const NodeBooks& b) {
  return b.installed + b.overcommitted == b.allocated + b.idle + b.stranded + b.unusable;
}

}  // namespace

void correct(NodeBooks& books, const NodeLevels& was, const NodeLevels& is, DurationMs span) {
  must(span >= 0, "what is reported late was before");
  add(books, was, -span);
  add(books, is, span);
  must(closes(books), "what a node has is allocated, idle, stranded or unusable");
}

NodeLevels levels_of(const NodeState& n, MilliGpu unhealthy_free) {
  NodeLevels l;
  l.installed = n.present ? n.spec.gpus * kMilliPerGpu : 0;
  l.allocated = n.load.allocated;
  l.stranded = n.present ? n.stranded : 0;
  const MilliGpu rest = l.installed - l.allocated - l.stranded;
  if (rest <= 0) {
    l.overcommitted = -rest;
  } else {
    l.unusable = n.open() ? std::min(rest, unhealthy_free) : rest;
  }
  l.idle = rest + l.overcommitted - l.unusable;
  must(l.idle >= 0 && l.close(), "nothing that is missing is idle");
  return l;
}

void Fleet::Impl::accrue(NodeState& n, TimeMs now) {
  must(!n.dated || now >= n.as_of, "time does not go backwards");
  if (n.dated && now > n.as_of) add(n.books, n.levels, now - n.as_of);
  n.as_of = now;
  n.dated = true;
}

NodeBooks Fleet::books(NodeId id, TimeMs now) const {
  const NodeState* n = impl_->find(id);
  if (n == nullptr) return {};
  NodeBooks out = n->books;
  must(now >= n->as_of, "books are asked for no earlier than their last change");
  add(out, n->levels, now - n->as_of);
  must(closes(out), "what a node has is allocated, idle, stranded or unusable");
  return out;
}

void Fleet::restore_books(NodeId id, const NodeBooks& books, TimeMs as_of) {
  must(closes(books), "what a node has is allocated, idle, stranded or unusable");
  NodeState& n = impl_->ensure(id);
  n.books = books;
  n.as_of = as_of;
  n.dated = true;
}

NodeLevels Fleet::levels(NodeId id) const {
  const NodeState* n = impl_->find(id);
  return n == nullptr ? NodeLevels{} : n->levels;
}

}  // namespace subak
