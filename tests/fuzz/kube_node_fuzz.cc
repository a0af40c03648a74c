// `kubectl get nodes -o json`: as the CLI and the service read it, and what a replay has of it.
#include <set>

#include "core/limits.h"
#include "kube/node/node.h"
#include "placement/gpus/mig_cut.h"
#include "sim/read/trace.h"
#include "tests/fuzz/common/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace subak;
  const NodeLabelKeys labels{"x/fabric", "x/policy", "x/gpus", "x/cpus", size % 2 == 0};
  const auto nodes =
      read_kube_nodes(fuzz::text_of(data, size),
                      {{"topology.io/rack", "topology.io/block"}, {"example.com/gpu"}, labels});
  if (nodes.ok()) {
    std::set<std::string> names;
    for (const NodeSpec& node : *nodes) {
      assert(names.insert(node.name).second);
      assert(node.gpus >= 0 && node.mig_gpus >= 0 && node.unhealthy_gpus >= 0);
      assert(node.mig_gpus <= node.gpus && node.unhealthy_gpus <= node.gpus);
      assert(mig_cut(node.product, node.mig, node.mig_gpus) != MigCut::kTooMany);
      assert(!node.contradicts || !node.unfit.empty());
      assert(node.numa_gpus >= 0 && node.numa_gpus <= 64 && node.numa_cpu_milli >= 0);
      assert(!node.one_replica || node.replicas > 1);
      assert(!node.gpus_unknown || !node.unfit.empty());
    }
    fuzz::check_fleet(*nodes);
  } else {
    fuzz::check_error(nodes.error());
  }
  const auto simulated = sim::nodes_to_replay(fuzz::text_of(data, size));
  if (simulated.ok()) {
    assert(!simulated->empty());
    for (const NodeSpec& node : *simulated) assert(node.gpus > 0 && node.mig.empty());
    fuzz::check_fleet(*simulated);
  } else {
    fuzz::check_error(simulated.error());
  }
  return 0;
}
