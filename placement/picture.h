// What a search looks at: the fleet as it is, or as it would be if. A picture is never changed;
// from one picture others are made ("and if these were gone too?"). Asking a question of a picture
// changes neither the picture nor the fleet. Whatever is asked of a picture with allocations gone
// is answered as a fleet would answer to which they were really given back.
//
// Lifetime: a picture borrows the fleet and the kept nodes. Both must outlive it, and it is good
// for as long as neither changes: a search asserts that it is not stale. It does not borrow the
// picture that it was made from. Make it, ask, and let it go: one of the fleet as it is costs a few
// pointers, one with allocations gone a copy of what is held on their nodes (a few KiB each).
// Threads: as the fleet. Threads that only read one fleet may each have pictures of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/error.h"
#include "placement/fleet.h"
#include "placement/kept_nodes.h"

namespace subak {

// A slot that is held: what Fleet::take() was told.
struct Allocation {
  ShapeId shape;
  std::uint32_t rank = 0;
  PodSlot slot;
  JobId owner;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

struct Overlay;  // placement/overlay.h: where a picture differs from the fleet as it is
struct Scene;    // placement/scene.h: how this folder reads a picture

class Picture {
 public:
  // The fleet as it is now, nothing kept.
  explicit Picture(const Fleet& fleet);
  // The fleet as it is now, with these nodes kept for their owners.
  Picture(const Fleet& fleet, const KeptNodes& kept);
  Picture(const Fleet& fleet, KeptNodes&& kept) = delete;  // it would not outlive the picture

  // Nothing held and every node open and healthy; nothing kept. What could ever fit. Best fit does
  // not matter here: the first place found will do.
  static Picture empty(const Fleet& fleet);

  // This one with these allocations given back, in any order; what they kept for themselves (an
  // exclusive domain) is given back with them. The bill is not asked: nothing is given back really.
  // Refused: kNotFound for an allocation that is not held in this picture (or named twice),
  // kExhausted when more than limits::kMaxPictureNodes nodes would differ from the fleet as it is.
  Result<Picture> without(std::span<const Allocation> gone) const;

  // This one with nothing held; what is closed, broken, kept or left to gangs stays so, and so does
  // what pods take that are held by nobody (Fleet::set_others). The best fit is where the least is held in this
  // picture, for that is what one would wait for.
  Picture drained() const;

  // Neither the fleet nor the kept nodes have changed since.
  bool current() const;
  const Fleet& fleet() const { return *fleet_; }

 private:
  friend struct Scene;

  const Fleet* fleet_;
  const KeptNodes* kept_ = nullptr;
  std::shared_ptr<const Overlay> overlay_;  // none: nothing differs
  bool nothing_held_ = false, all_open_ = false;
  std::uint64_t fleet_version_ = 0, kept_version_ = 0;
};

}  // namespace subak
