// The configuration file, and the values that flags take.
#include "core/duration.h"
#include "server/config/config.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

void check_address(const ListenAddress& address) {
  const auto again = parse_listen_address(address.text());
  assert(again.ok() && *again == address);
}

// What is accepted stays the same when it is read once more, over itself.
void check_file(const std::string& text) {
  Config config;
  std::vector<Origin> origins;
  const auto mistake = apply_yaml(text, "file.yaml", config, origins);
  if (mistake) {
    assert(mistake->starts_with("file.yaml:") && mistake->size() > 12);
    return;
  }
  for (const Origin& origin : origins) assert(origin.where.starts_with("file.yaml:"));
  for (const ListenAddress& address :
       {config.listen_grpc, config.listen_http, config.listen_webhook}) {
    check_address(address);
  }
  if (const auto error = check_config(config)) fuzz::check_error(*error);
  const Policy policy = config.policy_over(Policy{});
  assert(policy.half_life_ms >= 0 && policy.hold_ms > 0 && policy.patience_ms >= 0);
  Config twice = config;
  assert(!apply_yaml(text, "file.yaml", twice, origins));
  assert(twice.clusters == config.clusters && twice.gpu_kinds == config.gpu_kinds);
  assert(twice.routes == config.routes);
  assert(twice.node_labels == config.node_labels);
  assert(twice.alignment.namespaces == config.alignment.namespaces);
  assert(twice.priority_classes == config.priority_classes);
  assert(twice.system_namespaces == config.system_namespaces && twice.state == config.state);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  check_file(text);
  if (size > 300) return 0;
  for (const Setting& setting : settings()) {
    Config config;
    if (const auto error = setting.set(config, text)) assert(!error->want.empty());
  }
  if (const auto address = parse_listen_address(text); address.ok()) check_address(*address);
  return 0;
}
