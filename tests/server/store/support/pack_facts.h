// Converts facts to the form in which a store takes a checkpoint, and back.
// Threads: any; pure functions.
#pragma once

#include <cassert>
#include <utility>
#include <vector>

#include "model/fact.h"
#include "server/codec/codec.h"
#include "server/codec/packed_facts.h"

namespace subak {

// Returns the packed facts. Asserts that each fact can be packed.
inline PackedFacts pack(const std::vector<Fact>& facts) {
  PackedFacts packed;
  for (const Fact& fact : facts) {
    const bool added = packed.add(fact);
    assert(added);
  }
  return packed;
}

// Returns the facts, each with the number 0, as the facts of a checkpoint have it. Asserts that
// each fact can be read.
inline std::vector<Fact> unpack(const PackedFacts& packed) {
  std::vector<Fact> facts;
  PackedFacts::Cursor cursor(packed);
  for (PackedFacts::Row row; cursor.next(row);) {
    auto body = codec::decode(row.kind, row.body);
    assert(body.ok());
    facts.push_back({0, row.time_ms, *std::move(body)});
  }
  return facts;
}

}  // namespace subak
