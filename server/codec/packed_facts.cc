#include "server/codec/packed_facts.h"

#include <algorithm>
#include <cstring>

#include "server/codec/codec.h"

namespace subak {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;

struct Header {
  TimeMs time_ms = 0;
  std::uint32_t kind = 0;
  std::uint32_t length = 0;
};

}  // namespace

bool PackedFacts::add(const Fact& fact) {
  body_.clear();
  const auto needs = codec::encode(fact.body, body_);
  if (!needs) return false;
  needs_ = std::max(needs_, *needs);
  const Header header{fact.time_ms, codec::kind_of(fact.body),
                      static_cast<std::uint32_t>(body_.size())};
  const std::size_t room = sizeof header + body_.size();
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < room) {
    blocks_.emplace_back().reserve(std::max(kBlockBytes, room));
  }
  blocks_.back().append(reinterpret_cast<const char*>(&header), sizeof header);
  blocks_.back() += body_;
  ++size_;
  return true;
}

bool PackedFacts::Cursor::next(Row& row) {
  if (block_ < facts_.blocks_.size() && at_ == facts_.blocks_[block_].size()) {
    ++block_;
    at_ = 0;
  }
  if (block_ == facts_.blocks_.size()) return false;
  const std::string& block = facts_.blocks_[block_];
  Header header;
  std::memcpy(&header, block.data() + at_, sizeof header);
  row.time_ms = header.time_ms;
  row.kind = header.kind;
  row.body = std::string_view(block).substr(at_ + sizeof header, header.length);
  at_ += sizeof header + header.length;
  return true;
}

}  // namespace subak
