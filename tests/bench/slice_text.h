// A ResourceSlice (Dynamic Resource Allocation) as JSON text, for benchmarks. Threads: any.
#pragma once

#include <string>

namespace subak::bench {

// Returns a watch event, as one line, of the slice of "node-I" with 8 GPUs, as NVIDIA's driver
// writes it.
inline std::string slice_text(int i) {
  const std::string n = std::to_string(i);
  std::string devices;
  for (int g = 0; g < 8; ++g) {
    const std::string of = n + "-" + std::to_string(g);
    devices +=
        std::string(g == 0 ? "" : ",") + R"({"name":"gpu-)" + std::to_string(g) +
        R"(","attributes":{"type":{"string":"gpu"},"uuid":{"string":"GPU-6f1c2a3b-0000-4000-)" +
        of + R"("},"productName":{"string":"NVIDIA H100 80GB HBM3"},"brand":{"string":)" +
        R"("Nvidia"},"architecture":{"string":"Hopper"},"cudaComputeCapability":{"version":)" +
        R"("9.0.0"},"driverVersion":{"version":"580.65.6"},"cudaDriverVersion":{"version":)" +
        R"("13.0.0"},"resource.kubernetes.io/pciBusID":{"string":"0000:)" + of +
        R"("},"resource.kubernetes.io/pcieRoot":{"string":"pci0000:)" + std::to_string(g) +
        R"("}},"capacity":{"memory":{"value":"81559Mi"}}})";
  }
  return R"({"type":"ADDED","object":{"kind":"ResourceSlice","metadata":{"name":"node-)" + n +
         R"(-gpu.nvidia.com","resourceVersion":")" + n +
         R"("},"spec":{"driver":"gpu.nvidia.com","nodeName":"node-)" + n +
         R"(","pool":{"name":"node-)" + n +
         R"(","generation":1,"resourceSliceCount":1},"devices":[)" + devices + "]}}}\n";
}

}  // namespace subak::bench
