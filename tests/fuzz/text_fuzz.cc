// The text form of inputs and facts: what is read has one canonical line, which reads as the same.
// The inputs, one a line, are then asked of an engine:
// what it accepts can be stored and read again.
#include <algorithm>

#include "model/fact.h"
#include "model/input.h"
#include "tests/fuzz/common/expand.h"
#include "tests/fuzz/common/fuzz.h"
#include "tests/fuzz/common/stored_engine.h"

namespace {

using namespace subak;

constexpr std::size_t kMostInputs = 40;
constexpr std::size_t kMostExpanded = 8u << 20;  // in all lines together
constexpr TimeMs kStart = 1'700'000'000'000;

void check_forms(std::string_view line) {
  if (const auto input = input_from_text(line); input.ok()) {
    const std::string text = input_to_text(*input);
    const auto again = input_from_text(text);
    assert(again.ok() && input_to_text(*again) == text);
    assert(text.find('\n') == std::string::npos);
  } else {
    fuzz::check_error(input.error());
  }
  if (const auto fact = fact_from_text(line); fact.ok()) {
    const std::string text = fact_to_text(*fact);
    const auto again = fact_from_text(text);
    assert(again.ok() && fact_to_text(*again) == text);
    assert(text.find('\n') == std::string::npos);
  } else {
    fuzz::check_error(fact.error());
  }
}

// A world in which most names of the corpus mean something.
void found(fuzz::StoredEngine& world) {
  const auto apply = [&](in::Body body) { world.apply({kStart, "", "fuzz", std::move(body)}); };
  NodeSpec node;
  node.name = "n1";
  node.product = "H100";
  node.gpus = 8;
  in::SetAccount account;
  account.spec.path = "ml";
  account.spec.namespaces = {"ns"};
  apply(in::SetCluster{"main", Mode::kEnforce, {}, "", false});
  apply(in::ImportNodes{"main", {node}, "", false});
  apply(account);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  check_forms(text);
  fuzz::StoredEngine world;
  fuzz::Expander expander(kMostExpanded);
  TimeMs now = kStart;
  for (std::size_t lines = 0; !text.empty() && lines < kMostInputs; ++lines) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    Result<Input> input = input_from_text(expander.expand(line));
    if (!input.ok()) continue;
    if (now == kStart) found(world);
    input.value().time_ms = now += kMinuteMs;  // the shell stamps it
    world.apply(std::move(input).value());
    world.engine.check_invariants();
  }
  if (now == kStart) return 0;
  world.apply(
      {now, "", "fuzz", in::DeleteAccount{"nobody", 0, "", false}});  // a fact of this instant
  world.check_reopened();
  return 0;
}
