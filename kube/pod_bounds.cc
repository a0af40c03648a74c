// Finds everything that the engine would refuse once the pod is reported. It uses the table of
// model/bounds/bounds.h with the field names of a pod.
#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/printable.h"
#include "core/stored_size.h"
#include "core/text.h"
#include "kube/pod.h"
#include "model/bounds/bounds.h"

namespace subak {
namespace {

struct BoundField {
  std::string_view field;  // the field begins with this
  std::string_view in_pod;
};
constexpr std::array<BoundField, 13> kPlaces{{
    {"shape.node_selector, affinity", "spec"},
    {"shape.node_selector", "spec.nodeSelector"},
    {"shape.affinity", "spec.affinity.nodeAffinity"},
    {"shape.tolerations", "spec.tolerations"},
    {"shape.products", "spec.affinity.nodeAffinity"},
    {"shape.host_ports", "spec.containers[].ports"},
    {"shape.cpu_milli", "spec.containers[].resources[cpu]"},
    {"shape.memory_bytes", "spec.containers[].resources[memory]"},
    {"shape.", "spec.containers[].resources"},
    {"shape", "spec"},
    {"ns", "metadata.namespace"},
    {"node", "spec.nodeName"},
    {"name", "metadata.name"},
}};

// The GPUs of all containers, under the name that the first one uses.
std::string gpu_field(const Pod& pod) {
  const ContainerNote* const first = gpu_container(pod);
  const std::string_view name =
      first == nullptr ? names::kGpu : std::string_view(first->gpu_resource);
  return "spec.containers[].resources.limits[" + cut_text(name) + "]";
}

std::string field_in_pod(const Pod& pod, std::string_view field) {
  if (field == "shape.gpus") return gpu_field(pod);
  if (field == "account") return key_field("", pod.keys.account, names::kAccount);
  if (field == "user") return key_field("", pod.keys.user, names::kUser);
  if (field == "gang") return key_field("", pod.keys.job, names::kJob);
  if (field == "time_limit_ms") return key_field("", pod.keys.time_limit, names::kTimeLimit);
  const auto* place = std::find_if(kPlaces.begin(), kPlaces.end(),
                                   [&](const BoundField& p) { return field.starts_with(p.field); });
  return std::string(place == kPlaces.end() ? "metadata" : place->in_pod);
}

// Checks the size of the gang's request. The engine counts neighbouring pods with equal requests
// once, and pods of one template are equal. If pods come from several templates, all of them may
// differ, so the check counts each pod.
std::optional<Error> check_gang(const Pod& pod) {
  const std::size_t each = stored_bytes(pod.shape);
  if (pod.gang.one_template || each * pod.gang.size <= limits::kMaxJobRequestBytes) {
    return std::nullopt;
  }
  return Error{
      ErrorCode::kInvalid, "shape",
      std::to_string(each) + " bytes in each of " + std::to_string(pod.gang.size) + " pods",
      "want at most " + std::to_string(limits::kMaxJobRequestBytes) +
          " bytes in all pods of the gang, as stored: fewer selectors, tolerations, ports "
          "or pods"};
}

// Finds the first unprintable text of a record, by its path.
class FindUnprintable {
 public:
  template <class T>
  void operator()(int, std::string_view field, const T& value) {
    if (found) return;
    if constexpr (std::same_as<T, std::string>) {
      if (is_printable(value)) return;
      found = Error{ErrorCode::kInvalid, std::string(field), printable(value),
                    std::string(kWantPrintable)};
    } else if constexpr (IsVector<T>) {
      for (const auto& item : value) (*this)(0, field, item);
    } else if constexpr (requires(T record) { record.fields(*this); }) {
      const_cast<T&>(value).fields(*this);  // fields() is written once, for all visitors
      if (found) found->field = std::string(field) + "." + found->field;
    }
  }

  std::optional<Error> found;
};

std::optional<Error> check_printable(const PodRecord& record) {
  FindUnprintable find;
  const_cast<PodRecord&>(record).fields(find);
  return std::move(find.found);
}

}  // namespace

void check_pod_bounds(std::string_view path, Pod& pod) {
  const PodRecord record = pod_record(pod, false);
  auto error = bounds::check(record);
  if (!error) error = check_printable(record);
  if (!error) error = check_gang(pod);
  if (!error) return;
  error->field = std::string(path) + field_in_pod(pod, error->field);
  pod.add_mistake(*std::move(error));
}

}  // namespace subak
