// The constraints of a pod: selectors, required node affinity, tolerations, host ports, GPU
// products.
#include <algorithm>

#include "core/limits.h"
#include "core/names.h"
#include "kube/pod.h"
#include "model/product.h"

namespace subak {
namespace {

Requirement read_requirement(json::Value v, bool is_field) {
  Requirement r;
  json::each_member(v, [&](Text key, json::Value value) {
    if (key == "key") r.key = json::text(value);
    if (key == "operator") r.op = json::text(value);
    if (key != "values") return;
    json::each_item(value, [&](std::size_t, json::Value item) {
      if (r.values.size() <= limits::kMaxTermValues) r.values.emplace_back(json::text(item));
    });
  });
  if (is_field) r.key = "metadata.name";  // the only field that Kubernetes supports
  return r;
}

// Reads lists of any length in a pod, and stores at most one item beyond the engine's limit, for
// which the pod is refused.
class TermReader {
 public:
  explicit TermReader(PodShape& shape) : shape_(shape) {}

  void read(json::Value spec);

 private:
  bool take() { return ++terms_ <= limits::kMaxSelectorTerms + 1; }
  void read_affinity(json::Value affinity);
  void read_toleration(json::Value v);
  void read_ports(json::Value containers, bool host_network);

  PodShape& shape_;
  std::size_t terms_ = 0;  // selectors, affinity terms, their requirements, tolerations
};

void TermReader::read_affinity(json::Value affinity) {
  const auto node = json::member(affinity, "nodeAffinity");
  if (!node) return;
  const auto required = json::member(*node, "requiredDuringSchedulingIgnoredDuringExecution");
  if (!required) return;
  const auto terms = json::member(*required, "nodeSelectorTerms");
  if (!terms) return;
  shape_.affinity = read_node_terms(*terms, [this] { return take(); });
}

void TermReader::read_toleration(json::Value v) {
  if (!take()) return;
  Toleration& t = shape_.tolerations.emplace_back();
  json::each_member(v, [&](Text key, json::Value value) {
    if (key == "key") t.key = json::text(value);
    if (key == "operator") t.op = json::text(value);
    if (key == "value") t.value = json::text(value);
    if (key == "effect") t.effect = json::text(value);
  });
  if (t.op == "Equal") t.op.clear();
}

// On the host network every port of a container is a port of the host (API defaulting).
void TermReader::read_ports(json::Value containers, bool host_network) {
  json::each_item(containers, [&](std::size_t, json::Value container) {
    const auto ports = json::member(container, "ports");
    if (!ports) return;
    json::each_item(*ports, [&](std::size_t, json::Value port) {
      const auto host = json::member(port, host_network ? "containerPort" : "hostPort");
      HostPort p;
      p.port = host ? static_cast<std::int32_t>(json::integer(*host) & 0xffff) : 0;
      if (p.port == 0 || shape_.host_ports.size() > limits::kMaxSelectorTerms) return;
      p.protocol = json::text(port, "protocol");
      if (p.protocol == "TCP") p.protocol.clear();
      p.host_ip = json::text(port, "hostIP");
      shape_.host_ports.push_back(std::move(p));
    });
  });
}

void TermReader::read(json::Value spec) {
  const bool host_network = json::boolean(spec, "hostNetwork");
  json::each_member(spec, [&](Text key, json::Value value) {
    if (key == "affinity") read_affinity(value);
    if (key == "containers" || key == "initContainers") read_ports(value, host_network);
    if (key == "nodeSelector") {
      json::each_member(value, [&](Text label, json::Value v) {
        if (take())
          shape_.node_selector.push_back({std::string(label), std::string(json::text(v))});
      });
    }
    if (key != "tolerations") return;
    json::each_item(value, [&](std::size_t, json::Value t) { read_toleration(t); });
  });
}

// Returns the GPU products that the node selector allows, or else the affinity terms together. The
// names are those of whole GPUs, as nodes have them (base_product()). The result is empty if the
// selector is silent and some affinity term allows any product.
std::vector<std::string> products_of(const PodShape& shape) {
  std::vector<std::string> products;
  for (const Label& l : shape.node_selector) {
    if (l.key == names::kLabelProduct) return {std::string(base_product(l.value))};
  }
  for (const AffinityTerm& term : shape.affinity) {
    const auto r = std::find_if(term.requirements.begin(), term.requirements.end(), [](auto& q) {
      return q.key == names::kLabelProduct && q.op == "In";
    });
    if (r == term.requirements.end()) return {};
    for (const std::string& value : r->values) products.emplace_back(base_product(value));
  }
  std::sort(products.begin(), products.end());
  products.erase(std::unique(products.begin(), products.end()), products.end());
  return products;
}

}  // namespace

std::vector<AffinityTerm> read_node_terms(json::Value terms, const std::function<bool()>& take) {
  std::vector<AffinityTerm> out;
  json::each_item(terms, [&](std::size_t, json::Value term) {
    if (!take()) return;
    AffinityTerm& t = out.emplace_back();
    json::each_member(term, [&](Text key, json::Value list) {
      if (key != "matchExpressions" && key != "matchFields") return;
      json::each_item(list, [&](std::size_t, json::Value r) {
        if (take()) t.requirements.push_back(read_requirement(r, key == "matchFields"));
      });
    });
  });
  return out;
}

void read_constraints(json::Value spec, Pod& pod) {
  PodShape& shape = pod.shape;
  pod.host_network = json::boolean(spec, "hostNetwork");
  TermReader reader(shape);
  reader.read(spec);
  read_pod_rules(spec, pod);
  std::sort(shape.node_selector.begin(), shape.node_selector.end());
  shape.products = products_of(shape);
}

}  // namespace subak
