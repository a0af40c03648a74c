// A selector of devices: it ends for every text, and gives the same result again. With a uuid it is never
// the uuid alone that decides.
#include "kube/device/selector.h"
#include "tests/fuzz/common/fuzz.h"

namespace {

using namespace subak;

DeviceKind l4() {
  DeviceKind kind;
  kind.driver = "gpu.nvidia.com";
  kind.attributes["gpu.nvidia.com/type"] = std::string("gpu");
  kind.attributes["gpu.nvidia.com/productName"] = std::string("NVIDIA L4");
  kind.attributes["gpu.nvidia.com/cores"] = std::int64_t{58};
  kind.attributes["gpu.nvidia.com/display"] = false;
  kind.capacity["gpu.nvidia.com/memory"] = *parse_kube_quantity("24Gi");
  return kind;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const DeviceKind kind = l4();
  static const std::string uuid = "GPU-1";
  const std::string_view text = fuzz::text_of(data, size);
  const Selects any = evaluate_selector(text, kind);
  assert(any == evaluate_selector(text, kind));
  const Selects one = evaluate_selector(text, kind, &uuid);
  assert(one != Selects::kByUuid);
  assert(any == Selects::kByUuid || any == one);
  return 0;
}
