#include "placement/trial/alike.h"

#include <algorithm>
#include <utility>

namespace subak {
namespace {

// Heap order: the best one is at the front.
bool worse(const Equals& a, const Equals& b) { return a.key > b.key; }

}  // namespace

BestFirst::BestFirst(std::vector<Equals> of) : sources_(std::move(of)), unopened_(sources_.size()) {
  std::make_heap(sources_.begin(), sources_.end(), worse);
}

void BestFirst::open_next_group() {
  const std::size_t before = unopened_;
  const auto end = [&] { return sources_.begin() + static_cast<std::ptrdiff_t>(unopened_); };
  do {
    std::pop_heap(sources_.begin(), end(), worse);
    --unopened_;
  } while (unopened_ > 0 && sources_.front().key == sources_[before - 1].key);
  for (std::size_t i = unopened_; i < before; ++i) {
    const Equals& e = sources_[i];
    group_.push_back({&e, {}});
    if (e.alike == nullptr) continue;
    must(!e.alike->empty(), "alike nodes are at least one");
    group_.back().at = e.alike->begin();
  }
}

bool BestFirst::next() {
  if (group_.empty() && unopened_ > 0) open_next_group();
  if (group_.empty()) return false;
  const auto low =
      std::min_element(group_.begin(), group_.end(),
                       [](const Cursor& a, const Cursor& b) { return a.node() < b.node(); });
  node_ = low->node();
  of_ = low->of;
  const bool at_end = of_->alike == nullptr || ++low->at == of_->alike->end();
  if (at_end) group_.erase(low);
  return true;
}

}  // namespace subak
