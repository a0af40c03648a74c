#include "queue/ready_memo.h"

#include "core/must.h"

namespace subak::ready {

void Memos::begin(const Index& index, const Figures& figures, const Blocks& blocks,
                  std::size_t accounts) {
  const PassSetup& setup = figures.setup();
  const bool same = index_ == &index && index_epoch_ == index.epoch() && policy_ == setup.policy &&
                    rule_.gain == setup.rule->gain && rule_.lo == setup.rule->lo;
  figures_ = &figures;
  blocks_ = &blocks;
  must(!same || accounts <= memos_.size(), "a tree that grew has another epoch");
  if (same) return;
  index_ = &index;
  index_epoch_ = index.epoch();
  policy_ = setup.policy;
  rule_ = *setup.rule;
  ++epoch_;
  if (memos_.size() < accounts) memos_.resize(accounts);
}

const NextJob* Memos::find(AccountId id) const {
  if (!usable()) return nullptr;
  const Memo& memo = memos_[id.value];
  const TimeMs now = figures_->setup().now;
  const bool stands = memo.epoch == epoch_ && memo.from <= now && now <= memo.next.until &&
                      memo.seen == figures_->changes(id);
  return stands ? &memo.next : nullptr;
}

void Memos::keep(AccountId id, const NextJob& next) {
  must(usable(), "a pass with blocks leaves no result");
  must(next.slot != kNoSlot, "a result has a job");
  must(id.value < memos_.size(), "a result is of an account of the pass");
  memos_[id.value] = {epoch_, figures_->changes(id), next, figures_->setup().now};
}

}  // namespace subak::ready
