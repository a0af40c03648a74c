// Facts for tests of stores, and a sink that collects the facts of a recovery as texts.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/text.h"
#include "model/fact.h"
#include "server/runtime/ports.h"

namespace subak {

inline std::string text_of(const Fact& fact) {
  return std::to_string(fact.seq) + "@" + std::to_string(fact.time_ms) + " " +
         std::visit([](const auto& f) { return std::string(f.kName) + " " + to_text(f); },
                    fact.body);
}

struct Texts final : FactSink {
  std::vector<std::string> checkpoint, tail;
  std::uint64_t checkpoint_seq = 999;
  void checkpoint_fact(const Fact& fact) override { checkpoint.push_back(text_of(fact)); }
  void checkpoint_end(std::uint64_t seq) override { checkpoint_seq = seq; }
  void fact(const Fact& fact) override { tail.push_back(text_of(fact)); }
};

// Returns the fact of a ledger row of 8 GPUs for the account `holder`.
inline Fact charged(std::uint64_t seq, TimeMs from, TimeMs to, std::uint32_t holder = 5,
                    std::string product = "H100") {
  LedgerRow row;
  row.allocation = {JobId(ClusterId(1), seq), 0, 1};
  row.from_ms = from;
  row.to_ms = to;
  row.holder = row.payer = AccountId(holder);
  row.node = NodeId(3);
  row.product = std::move(product);
  row.milligpu = 8000;
  return Fact{seq, to, fact::Charged{row}};
}

inline Fact account_set(std::uint64_t seq, std::uint32_t id, std::string path, std::int64_t shares,
                        std::string actor) {
  fact::AccountSet set;
  set.id = AccountId(id);
  set.spec.path = std::move(path);
  set.spec.shares = shares;
  set.edit = {std::move(actor), "because", "r" + std::to_string(seq)};
  return Fact{seq, static_cast<TimeMs>(seq * 10), set};
}

}  // namespace subak
