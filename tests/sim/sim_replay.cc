// Reads inputs, one line each, and prints the facts that an engine makes of them. A recorded run
// replayed through another build (or another version) must print the same bytes.
#include <iostream>
#include <string>

#include "engine/engine.h"

int main() {
  std::ios::sync_with_stdio(false);
  subak::Engine engine;
  std::string line;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const auto input = subak::input_from_text(line);
    if (!input.ok()) {
      std::cerr << "line " << number << ": " << input.error().message() << '\n';
      return 1;
    }
    for (const subak::Fact& fact : engine.apply(*input).facts) {
      std::cout << subak::fact_to_text(fact) << '\n';
    }
  }
  const auto digest = engine.digest();
  std::cout << "digest " << digest[0] << ' ' << digest[1] << '\n';
}
