#include "kube/node/node_labels.h"

#include <algorithm>

#include "core/error.h"
#include "kube/quantity.h"

namespace subak {
namespace {

constexpr std::size_t kMostQuoted = 80;  // a label's value in a cluster has at most 63 bytes

}  // namespace

std::optional<std::int64_t> label_number(std::string_view value) {
  return value.starts_with('-') ? std::nullopt : whole_number<std::int64_t>(value);
}

std::string label_text(std::string_view key, std::string_view value) {
  return std::string(key) + "=" + cut_text(value, kMostQuoted);
}

std::string resource_text(std::string_view name, std::int64_t count) {
  return std::string(name) + " " + std::to_string(count);
}

}  // namespace subak
