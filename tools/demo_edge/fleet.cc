#include "tools/demo_edge/fleet.h"

namespace subak::demo {
namespace {

// The demo checks that these add up. The hard one covers all GPUs of the fleet for more than a day.
constexpr char kDemoBudgets[] = "10000h/day,soft=10000h/total";

v1::NodeSpec node(const std::string& name, const char* product, int gpus, int cores,
                  std::int64_t memory_bytes) {
  v1::NodeSpec spec;
  spec.set_name(name);
  spec.set_product(product);
  spec.set_gpus(gpus);
  spec.set_cpu_milli(std::int64_t{cores} * 1000);
  spec.set_memory_bytes(memory_bytes);
  spec.set_pod_slots(110);
  auto* label = spec.add_labels();
  label->set_key("nvidia.com/gpu.product");
  label->set_value(product);
  return spec;
}

void cut(v1::NodeSpec& spec, const char* profile, int count) {
  auto* slices = spec.add_mig();
  slices->set_profile(profile);
  slices->set_count(count);
}

v1::UpdateAccountRequest account(const std::string& path, std::int64_t shares) {
  v1::UpdateAccountRequest request;
  request.mutable_account()->set_path(path);
  request.mutable_account()->set_shares(shares);
  request.set_reason("set up for the demo");
  request.set_request_id("demo-account-" + path);
  request.set_allow_missing(true);
  return request;
}

}  // namespace

std::vector<v1::NodeSpec> demo_fleet() {
  std::vector<v1::NodeSpec> out;
  for (int i = 1; i <= 4; ++i) {
    out.push_back(node("hgx-" + std::to_string(i), kH100, 8, 192, 2048 * kGiB));
  }
  for (int i = 1; i <= kRackNodes; ++i) {
    v1::NodeSpec spec = node((i < 10 ? "nvl72-0" : "nvl72-") + std::to_string(i), kGb200,
                             kRackGpusPerNode, 144, 960 * kGiB);
    spec.set_clique(kClique);
    out.push_back(std::move(spec));
  }
  for (int i = 1; i <= 2; ++i) {
    v1::NodeSpec spec = node("mig-" + std::to_string(i), kA100, 8, 128, 1024 * kGiB);
    spec.set_mig_gpus(8);
    cut(spec, "1g.10gb", 16);
    cut(spec, "2g.20gb", 8);
    cut(spec, "3g.40gb", 8);
    out.push_back(std::move(spec));
  }
  return out;
}

const std::vector<Team>& teams() {
  static const std::vector<Team> all{
      {"ml.vision", "vision", {"ana", "ben"}, 2, 0, 0.5},
      {"ml.speech", "speech", {"cai"}, 1, 0, 0.25},
      {"bio", "bio", {"dora", "eli"}, 1, 16, 0.25},
  };
  return all;
}

std::vector<v1::UpdateAccountRequest> demo_accounts() {
  std::vector<v1::UpdateAccountRequest> out;
  out.push_back(account("ml", 3));
  out.back().mutable_account()->set_budgets(kDemoBudgets);
  for (const Team& team : teams()) {
    v1::UpdateAccountRequest request = account(team.account, team.shares);
    request.mutable_account()->add_namespaces(team.ns);
    if (team.limit_gpus > 0) {
      auto* limit = request.mutable_account()->add_limit();
      limit->set_product("gpu");
      limit->set_milligpu(team.limit_gpus * 1000);
    }
    out.push_back(std::move(request));
  }
  return out;
}

}  // namespace subak::demo
