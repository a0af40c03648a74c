#include "model/gang_terms.h"

namespace subak {
namespace {

constexpr std::string_view kPrefer = "prefer:";

}  // namespace

bool read_topology(std::string_view text, GangTerms& terms) {
  const bool prefer = text.starts_with(kPrefer);
  if (prefer) text.remove_prefix(kPrefer.size());
  const auto topology = enum_from<Topology>(text);
  if (!topology) return false;
  terms.topology = *topology;
  terms.prefer = prefer;
  return true;
}

std::string topology_text(const GangTerms& terms) {
  return std::string(terms.prefer ? kPrefer : "") + std::string(enum_name(terms.topology));
}

std::string terms_text(const GangTerms& terms) {
  std::string text = topology_text(terms);
  each_wish_beside_topology(terms, [&](const auto& wish, auto value) {
    const std::size_t number = std::min(wish.says.find('#'), wish.says.size());
    text += wish.says.substr(0, number);
    if (number == wish.says.size()) return;
    text += std::to_string(value) + std::string(wish.says.substr(number + 1));
  });
  return text;
}

}  // namespace subak
