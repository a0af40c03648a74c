#include "queue/ready_fifo.h"

#include <algorithm>

#include "core/must.h"

namespace subak::ready {

void Fifo::begin(Index& index) {
  index_ = &index;
  for (const auto& [key, kind] : index.kinds()) index.trim(kind);
  restart();
}

void Fifo::restart() {
  front_.clear();
  for (const auto& [key, kind] : index_->kinds()) push({kind, 0});
  must(front_.size() == index_->kinds().size(), "every kind has a job");
  version_ = index_->heap_version();
}

void Fifo::push(Place place) {
  if (place.at >= index_->kind(place.kind).by_age.size()) return;
  front_.push_back(place);
  std::push_heap(front_.begin(), front_.end(), [this](Place a, Place b) { return later(a, b); });
}

void Fifo::pop() {
  must(!front_.empty(), "only a job that is there is passed");
  std::pop_heap(front_.begin(), front_.end(), [this](Place a, Place b) { return later(a, b); });
  front_.pop_back();
}

}  // namespace subak::ready
