// What a node could not align: CPUs, memory and network cards near a pod's GPUs.
#include <algorithm>
#include <string>

#include "admission/policy_parts.h"
#include "core/error.h"
#include "model/product.h"

namespace subak::policy {
namespace {

class Gaps {
 public:
  Gaps(const Context& c, const Pod& pod, std::string_view path)
      : c_(c), pod_(pod), path_(path), found_(pod.qos_gaps) {
    for (Error& gap : found_) gap.want += ": only Guaranteed pods are aligned";
  }

  std::vector<Error> find() {
    for (const ContainerNote& note : pod_.containers) {
      if (note.ephemeral) continue;
      if (note.gpus > 0) {
        whole_cpus(note);
        one_numa_node(note);
      } else {
        beside_gpus(note, note.rdma);
        beside_gpus(note, note.huge_pages);
      }
    }
    host_ports();
    return std::move(found_);
  }

 private:
  void add(std::string field, std::string_view got, std::string want) {
    found_.push_back({ErrorCode::kInvalid, std::move(field), std::string(got), std::move(want)});
  }

  // Kubelets give CPUs of its own only to a container with a whole number of CPUs.
  void whole_cpus(const ContainerNote& note) {
    if (note.cpu_milli % 1000 == 0) return;
    add(note.field + ".resources." + std::string(note.cpu_list) + "[cpu]", note.cpu,
        "want whole CPUs such as \"" + std::to_string(note.cpu_milli / 1000 + 1) +
            "\": parts of a CPU are not aligned");
  }

  void one_numa_node(const ContainerNote& note) {
    const std::int64_t gpus = largest_of(c_.cluster, pod_.shape, c_.cluster.product_container_gpus);
    const std::int64_t on_node = largest_of(c_.cluster, pod_.shape, c_.cluster.product_node_gpus);
    if (gpus > 0 && note.gpus > gpus && gpus < on_node) {
      add(note.field + ".resources.limits[" + cut_text(note.gpu_resource) + "]",
          std::to_string(note.gpus),
          "want at most \"" + std::to_string(gpus) +
              "\": the kubelets of all such nodes take them from one NUMA node");
    }
    const std::int64_t cpus = c_.cluster.largest_node.container_cpu_milli / 1000;
    if (cpus > 0 && note.cpu_milli > cpus * 1000) {
      add(note.field + ".resources." + std::string(note.cpu_list) + "[cpu]", note.cpu,
          "want at most \"" + std::to_string(cpus) + "\": no kubelet has more on a NUMA node");
    }
  }

  // Kubelets align the devices and huge pages of a container with each other.
  void beside_gpus(const ContainerNote& note, Text resource) {
    const ContainerNote* const with = gpu_container(pod_);
    if (resource.empty() || with == nullptr) return;
    add(note.field + ".resources.limits[" + cut_text(resource) + "]", "",
        "want it in " + with->field + ", beside the GPUs: other containers are not aligned");
  }

  // Two pods on one node must not open the same port.
  void host_ports() {
    const std::int64_t on_node = largest_of(c_.cluster, pod_.shape, c_.cluster.product_node_gpus);
    if (!pod_.host_network || !pod_.shape.host_ports.empty() || pod_.shape.gpus >= on_node) return;
    add(std::string(path_) + "spec.containers[].ports", "",
        "want each port that the pod opens, such as containerPort: 29500: with hostNetwork, pods "
        "on "
        "one node share all ports");
  }

  const Context& c_;
  const Pod& pod_;
  std::string_view path_;
  std::vector<Error> found_;
};

// What to write so that a gang on several nodes does not use the pod network alone. None for all
// ranks but the first, so that a gang gets one warning.
std::optional<Error> network_gap(const Context& c, const Pod& pod, std::string_view path) {
  const std::int64_t on_node = largest_of(c.cluster, pod.shape, c.cluster.product_node_gpus);
  const bool several = pod.gang.size > 1 && pod.gang.uniform && pod.gang.rank <= 0 &&
                       pod.shape.gpus * pod.gang.size > on_node;
  const bool chosen = pod.host_network || asks_rdma(pod.shape) ||
                      has_key(pod.annotations, "k8s.v1.cni.cncf.io/networks");
  if (as_offered(pod.shape).kind != GpuKind::kWhole || on_node == 0 || !several)
    return std::nullopt;
  if (is_joined(pod) || chosen) return std::nullopt;
  const auto& offered = c.cluster.largest_node.extended;
  const auto rdma = std::find_if(offered.begin(), offered.end(), [](const ResourceCount& r) {
    return r.count > 0 && is_rdma(r.name);
  });
  const ContainerNote* const with = gpu_container(pod);
  const std::string why = ": its gang is on several nodes";
  if (rdma == offered.end() || with == nullptr) {
    return Error{ErrorCode::kInvalid, std::string(path) + "spec.hostNetwork", "",
                 "is not set, want true, as no node offers RDMA" + why};
  }
  return Error{ErrorCode::kInvalid, with->field + ".resources.limits[" + cut_text(rdma->name) + "]",
               "", "is not set, want \"1\", or spec.hostNetwork: true" + why};
}

// What to write instead of several replicas in one container.
std::optional<Error> replica_gap(const Pod& pod) {
  if (as_offered(pod.shape).kind != GpuKind::kShared) return std::nullopt;
  const auto several = std::find_if(pod.containers.begin(), pod.containers.end(),
                                    [](const ContainerNote& n) { return n.gpus > 1; });
  if (several == pod.containers.end()) return std::nullopt;
  return Error{ErrorCode::kInvalid,
               several->field + ".resources.limits[" + cut_text(several->gpu_resource) + "]",
               std::to_string(several->gpus),
               "want \"1\": several replicas may be parts of one GPU, and many device plugins "
               "refuse more than one"};
}

}  // namespace

std::vector<Error> alignment_gaps(const Context& c, const Pod& pod, std::string_view path) {
  if (as_offered(pod.shape).kind != GpuKind::kWhole || pod.shape.gpus < 2) return {};
  return Gaps(c, pod, path).find();
}

void warn_of_alignment(const Context& c, const Pod& pod, Decision& d) {
  if (const auto gap = replica_gap(pod)) d.warn(gap->message());
  if (c.config.alignment_of(c.review.ns) == Alignment::kOff) return;
  for (const Error& gap : alignment_gaps(c, pod, "")) d.warn(gap.message());
  if (const auto gap = network_gap(c, pod, "")) d.warn(gap->message());
}

std::optional<Decision> unaligned(const Context& c, const Pod& pod, std::string_view path) {
  if (c.config.alignment_of(c.review.ns) != Alignment::kDeny) return std::nullopt;
  const std::vector<Error> gaps = alignment_gaps(c, pod, path);
  if (gaps.empty()) return std::nullopt;
  Decision d = denied(Because::kUnaligned, gaps.front());
  if (gaps.size() > 1) {
    d.message += " (and " + std::to_string(gaps.size() - 1) +
                 (gaps.size() == 2 ? " more field)" : " more fields)");
  }
  return d;
}

}  // namespace subak::policy
