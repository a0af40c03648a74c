// Holds facts in memory, one after another in their durable form (server/codec/codec.h). A
// checkpoint is a list of facts that rebuild the state. The service holds them in this form until
// the store has written the checkpoint. The form needs about a tenth of the memory that the records
// need. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "model/fact.h"

namespace subak {

// The facts, in the order in which they were added. Only add() changes them.
class PackedFacts {
 public:
  // One fact, as the store writes it.
  struct Row {
    TimeMs time_ms = 0;
    std::uint32_t kind = 0;  // codec::kind_of()
    // The body of the fact. The view points into the memory of the PackedFacts.
    std::string_view body;
  };
  // Reads all facts, from the first on. Do not change the PackedFacts while a Cursor is in use.
  class Cursor {
   public:
    explicit Cursor(const PackedFacts& facts) : facts_(facts) {}
    // Sets `row` to the next fact. False: there is no further fact, and `row` is unchanged.
    bool next(Row& row);

   private:
    const PackedFacts& facts_;
    // The position of the next row: the index of its block, and the offset of its first byte in
    // that block.
    std::size_t block_ = 0, at_ = 0;
  };

  // Appends a fact, without the fact's number. False: no version could read the fact
  // (codec::encode), so the fact was left out.
  [[nodiscard]] bool add(const Fact& fact);
  // Returns the number of facts.
  std::size_t size() const { return size_; }
  // Returns the oldest fact version that can read all of the facts.
  std::uint32_t needs() const { return needs_; }

 private:
  // No row spans two blocks. A new block is added without copying the others. A row is a header,
  // then the body.
  std::deque<std::string> blocks_;
  // The buffer in which add() encodes a body. The buffer is a member, so that each call reuses its
  // memory.
  std::string body_;
  std::size_t size_ = 0;
  std::uint32_t needs_ = 1;
};

}  // namespace subak
