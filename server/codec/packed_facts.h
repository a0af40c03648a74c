// Facts in their durable form (server/codec/codec.h), one after another in memory. The service uses
// it for a checkpoint until the store has written it. It needs about a tenth of the memory of the
// records. Threads: one at a time.
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
    // Points into the PackedFacts.
    std::string_view body;
  };
  // Reads all facts, from the first on. Do not change the PackedFacts meanwhile.
  class Cursor {
   public:
    explicit Cursor(const PackedFacts& facts) : facts_(facts) {}
    // Sets `row` to the next fact. False: there is no further fact, and `row` is unchanged.
    bool next(Row& row);

   private:
    const PackedFacts& facts_;
    // The position of the next row: its block, and its first byte there.
    std::size_t block_ = 0, at_ = 0;
  };

  // Appends a fact without its number. False: the fact could not be read again (codec::encode) and
  // was left out.
  [[nodiscard]] bool add(const Fact& fact);
  // Returns the number of facts.
  std::size_t size() const { return size_; }
  // Returns the oldest fact version that can read all of the facts.
  std::uint32_t needs() const { return needs_; }

 private:
  // Each block has complete rows, and a new block is added without copying the others. A row is a
  // header, then the body.
  std::deque<std::string> blocks_;
  // The body that add() encodes. It is a member so that its memory is reused.
  std::string body_;
  std::size_t size_ = 0;
  std::uint32_t needs_ = 1;
};

}  // namespace subak
