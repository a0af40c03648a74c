// What an API server says of NVIDIA's GPU Operator, with the configurations of its device plugin:
// preflight reads any text, and says the same of the same text.
#include <string>
#include <string_view>

#include "cli/setup/preflight.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

// Every answer is this text, and every list has one page.
class SameAnswer final : public cli::KubeCaller {
 public:
  explicit SameAnswer(std::string_view text) : text_(text) {}
  Reply call(const KubeCall& call) override {
    Reply reply;
    reply.answer.outcome = Outcome::kDone;
    reply.body = call.path.find("&continue=") == std::string::npos ? text_ : "{}";
    return reply;
  }
  void wait(DurationMs) override {}

 private:
  const std::string text_;
};

std::vector<cli::Finding> findings(std::string_view text) {
  SameAnswer api(text);
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
