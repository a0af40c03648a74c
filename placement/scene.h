// A picture, opened for reading: what each node has left there, what is held on it, whose it is.
// Lives no longer than its picture. Private to placement.
#pragma once

#include "placement/fleet_impl.h"
#include "placement/picture.h"

namespace subak {

struct Scene {
  explicit Scene(const Picture& picture)
      : fleet(picture.fleet().impl()),
        kept(picture.kept_ != nullptr && !picture.kept_->empty() ? picture.kept_ : nullptr),
        nothing_held(picture.nothing_held_),
        all_open(picture.all_open_) {}

  const Fleet::Impl& fleet;
  const KeptNodes* kept;  // nullptr: nothing is
  bool nothing_held;      // all rooms are empty
  bool all_open;          // every node that matches may be used, whatever its condition

  const NodeState& node(NodeIndex i) const { return *fleet.nodes[i]; }
  // What is left on the node.
  const Room& room(NodeIndex i) const { return nothing_held ? node(i).empty : node(i).room; }
  // What is held on it; with nothing_held, what there is to wait for.
  const Load& load(NodeIndex i) const { return node(i).load; }
  // Exclusive holds on the whole domain.
  std::uint32_t kept_holds(DomainIndex d) const { return fleet.domains[d]->kept; }
  JobId owner_of(NodeIndex i) const {
    return kept == nullptr ? JobId() : kept->owner_of(NodeId(i));
  }
  // The fleet as it is, but for what is kept: what an index or a memo of now says holds here.
  bool as_it_is() const { return !nothing_held; }
  // The same with nothing kept.
  Scene unkept() const {
    Scene s = *this;
    s.kept = nullptr;
    return s;
  }
};

}  // namespace subak
