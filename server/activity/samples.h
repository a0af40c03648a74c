// Reads a Prometheus server's answer to the query for DCGM's metrics, for the observer
// (observer.h). The sources of the formats are
// https://prometheus.io/docs/prometheus/latest/querying/api (instant vectors) and
// NVIDIA/dcgm-exporter, internal/pkg/rendermetrics (labels). Threads: any; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// The query (PromQL). It asks for activity, framebuffer and power of each GPU or MIG instance, and
// leaves out all labels that read_samples() does not read.
std::string activity_query();

// The last values of one device: a GPU, or a MIG instance of a GPU. A device that several pods
// share has one DeviceSample for each pod.
struct DeviceSample {
  // The value of the label `cluster`; empty: the series have no such label.
  std::string cluster;
  // The node's name as the exporter gives it (Hostname), and as relabelling may give it (node).
  std::string node, other_node;
  // The index of the GPU on its node, and its UUID. One of the two may be empty.
  std::string gpu, uuid;
  // The id and the profile of the MIG instance; empty: the device is a GPU.
  std::string instance, profile;
  // The pod that uses the device, as "namespace/name"; empty: the exporter names no pod.
  std::string pod;
  // The fraction of the time in which the device was busy, from 0 to 1. nullopt: no valid value.
  std::optional<double> activity;
  // The used framebuffer in MiB, and the power of the complete GPU in watts. nullopt: no valid
  // value.
  std::optional<double> framebuffer_mib, watts;
};

// One answer of the server.
struct ActivitySamples {
  // The time of the values by the server's clock; 0: the answer has no values.
  TimeMs time_ms = 0;
  // The devices, in the order of the answer.
  std::vector<DeviceSample> devices;
  // The number of series, and the number of series with an invalid value.
  std::size_t series = 0, invalid = 0;
};

// Reads the body of an answer. The activity is that of DCGM_FI_PROF_GR_ENGINE_ACTIVE; without a
// valid value, it is that of DCGM_FI_DEV_GPU_UTIL / 100. If a device has several values of one
// metric, the largest counts. Series of other metrics are ignored. A value is invalid, and is
// ignored, if it is negative, above the metric's range, infinite, or not a number.
//
// If some series has the label exported_pod, Prometheus has renamed the exporter's labels. Then
// `exported_namespace` and `exported_pod` name the pod of each device. `namespace` and `pod` name
// the exporter's own pod, and are ignored.
//
// An error means that the body is not such an answer, that the server reports an error, or that the
// answer has more than limits::kMaxActivitySeries series. It names the field, the value and what is
// wanted.
Result<ActivitySamples> read_samples(std::string_view body);

}  // namespace subak
