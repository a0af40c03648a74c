#include "placement/fleet/topology.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "placement/fleet/fleet_impl.h"

namespace subak {
namespace {

std::string quoted(const std::string& name) {
  return name.empty() ? "none" : std::string("\"").append(name).append("\"");
}

std::string listed(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + quoted(name);
  return out;
}

}  // namespace

std::vector<std::string> topology_contradictions(const Fleet& fleet, ClusterId cluster,
                                                 std::size_t most) {
  const Fleet::Impl& impl = fleet.impl();
  std::vector<std::string> out;
  if (impl.named == 0) return out;
  const auto say = [&](std::string text) {
    if (out.size() < most) out.push_back(std::move(text));
  };
  for (std::size_t k = 0; k + 1 < impl.depth; ++k) {
    std::map<std::string, std::set<std::string>> stands_in;
    for (const auto& [key, index] : impl.levels[k].by_name) {
      const Group& group = *impl.levels[k].groups[index];
      if (std::get<2>(key) != k || group.cluster != cluster || group.members.empty()) continue;
      const NodeSpec& node = impl.nodes[group.members.front()]->spec;
      if (node.level(k).empty()) continue;  // a clique's name
      stands_in[group.name].insert(node.level(k + 1));
    }
    for (const auto& [name, above] : stands_in) {
      if (above.size() < 2) continue;
      say(quoted(name) + " of topology level " + std::to_string(k) +
          " has nodes in several groups of level " + std::to_string(k + 1) + ": " + listed(above) +
          "; it is taken as one in each");
    }
  }
  for (const auto& domain : impl.domains) {
    if (!domain || domain->cluster != cluster || domain->name.empty()) continue;
    std::set<std::string> racks;
    for (const NodeIndex m : domain->members) racks.insert(impl.nodes[m]->spec.level(0));
    if (racks.size() < 2) continue;
    say("clique " + quoted(domain->name) + " has nodes in several groups of topology level 0: " +
        listed(racks) + "; it stays one NVLink domain");
  }
  return out;
}

}  // namespace subak
