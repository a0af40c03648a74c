// What an API server says of NVIDIA's GPU Operator, with the configurations of its device plugin:
// preflight reads any text, and says the same of the same text.
#include <string>
#include <string_view>

#include "cli/setup/preflight.h"
#include "tests/fuzz/common/fuzz.h"
#include "tests/fuzz/common/one_answer.h"

namespace {

using namespace subak;

std::vector<cli::Finding> findings(std::string_view text) {
  OneAnswer api(text);
  cli::GpuOperatorFacts facts;
  std::vector<std::string> unread;
  const auto nodes = api.list("/api/v1/nodes", "",
                              [&](json::Value node) { cli::take_operator_node(node, facts); });
  cli::read_gpu_operator(api, {"nvidia.com", "resource.k8s.io"}, facts, unread);
  assert(nodes || unread.size() <= 1);  // of a list that is JSON, only the ConfigMap may be unread
  return cli::judge_gpu_operator(facts, true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto found = findings(text);
  for (const cli::Finding& f : found) assert(!f.what.empty() && !f.todo.empty());
  assert(found == findings(text));
  const cli::PluginConfig config = cli::read_plugin_config(std::string(text));
  assert(config.mistake.empty() || (!config.time_slicing && !config.mps));
  return 0;
}
