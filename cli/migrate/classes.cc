#include "cli/migrate/classes.h"

#include <algorithm>
#include <limits>

#include "cli/text/account_names.h"
#include "core/account_limits.h"

namespace subak::cli {
namespace {

// "GPU_high." -> "gpu-high".
std::string class_name(const std::string& name) {
  std::string out = account_label(name);
  std::replace(out.begin(), out.end(), '_', '-');
  while (out.ends_with('-')) out.pop_back();
  if (is_class_name(out)) return out;
  return out.empty() ? "class" : "class-" + out.substr(0, 50);
}

std::string unused_name(const std::string& wanted, const std::vector<PriorityClass>& classes) {
  std::string name = wanted;
  const auto is_taken = [&](const PriorityClass& one) { return one.name == name; };
  for (int n = 2; std::any_of(classes.begin(), classes.end(), is_taken); ++n) {
    name = wanted.substr(0, 55) + "-" + std::to_string(n);
  }
  return name;
}

}  // namespace

void add_class(const FoundClass& found, Migration& out) {
  const std::string whose = found.kind + " '" + found.name + "'";
  const auto unmatched = [&](const std::string& todo) {
    out.unmatched.push_back(
        {found.at, found.kind, whose + ": value " + std::to_string(found.value), todo});
  };
  if (found.value > std::numeric_limits<std::int32_t>::max() ||
      found.value < std::numeric_limits<std::int32_t>::min()) {
    return unmatched("The value of a priority class has 32 bits.");
  }
  const auto value = static_cast<std::int32_t>(found.value);
  const auto same = std::find_if(out.classes.begin(), out.classes.end(),
                                 [&](const PriorityClass& one) { return one.priority == value; });
  if (same != out.classes.end()) {
    return unmatched("No two priority classes have one value: its jobs use class " + same->name +
                     ".");
  }
  if (out.classes.size() == limits::kMaxPriorityClasses) {
    return unmatched("Subak has at most " + std::to_string(limits::kMaxPriorityClasses) +
                     " priority classes.");
  }
  PriorityClass& one = out.classes.emplace_back();
  one.priority = value;
  one.name = unused_name(class_name(found.name), {out.classes.begin(), out.classes.end() - 1});
  if (one.name != found.name) out.renamed.push_back(whose + " -> " + one.name);
}

void finish_classes(Migration& out) {
  std::sort(out.classes.begin(), out.classes.end(),
            [](const auto& a, const auto& b) { return a.priority < b.priority; });
  if (out.classes.size() == 1 && out.classes[0].priority == 0) out.classes.clear();
}

}  // namespace subak::cli
