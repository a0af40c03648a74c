// The text form of inputs and facts: what is read has one canonical line, which reads as the same.
#include "engine/fact.h"
#include "engine/input.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto input = input_from_text(text); input.ok()) {
    const std::string line = input_to_text(*input);
    const auto again = input_from_text(line);
    assert(again.ok() && input_to_text(*again) == line);
    assert(line.find('\n') == std::string::npos);
  } else {
    fuzz::check_error(input.error());
  }
  if (const auto fact = fact_from_text(text); fact.ok()) {
    const std::string line = fact_to_text(*fact);
    const auto again = fact_from_text(line);
    assert(again.ok() && fact_to_text(*again) == line);
    assert(line.find('\n') == std::string::npos);
  } else {
    fuzz::check_error(fact.error());
  }
  return 0;
}
