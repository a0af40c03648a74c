#include "server/activity/samples.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "core/edge_limits.h"
#include "core/limits.h"
#include "core/printable.h"

namespace subak {
namespace {

namespace ondemand = simdjson::ondemand;

enum class Metric : std::uint8_t { kEngine, kUtil, kFramebuffer, kPower, kOther };

struct MetricRow {
  std::string_view name;
  Metric metric;
  // A larger value is not valid.
  double most;
};
constexpr std::array<MetricRow, 4> kMetrics{{
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", Metric::kEngine, 1},
    {"DCGM_FI_DEV_GPU_UTIL", Metric::kUtil, 100},
    {"DCGM_FI_DEV_FB_USED", Metric::kFramebuffer, 1e9},
    {"DCGM_FI_DEV_POWER_USAGE", Metric::kPower, 1e5},
}};
constexpr double kUtilWhole = 100;

// The labels that are read, beside the name of the metric.
enum Label : std::uint8_t {
  kCluster,
  kNode,
  kOtherNode,
  kGpu,
  kUuid,
  kInstance,
  kProfile,
  kNamespace,
  kPod,
  kExportedNamespace,
  kExportedPod,
  kLabels
};
constexpr std::array<std::pair<std::string_view, Label>, 13> kLabelNames{{
    {"cluster", kCluster},
    {"Hostname", kNode},
    {"hostname", kNode},
    {"node", kOtherNode},
    {"gpu", kGpu},
    {"UUID", kUuid},
    {"uuid", kUuid},
    {"GPU_I_ID", kInstance},
    {"GPU_I_PROFILE", kProfile},
    {"namespace", kNamespace},
    {"pod", kPod},
    {"exported_namespace", kExportedNamespace},
    {"exported_pod", kExportedPod},
}};

using Labels = std::array<std::string, kLabels>;

Error wrong(std::string field, std::string_view got, std::string want) {
  return {ErrorCode::kInvalid, std::move(field), printable(got.substr(0, limits::kMaxEchoBytes)),
          std::move(want)};
}

Error malformed() {
  return wrong("prometheus", "", "want the answer of a Prometheus server to an instant query");
}

// A value in Prometheus's text form. nullopt: not a finite number.
std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

void raise_to(std::optional<double>& field, double value) {
  field = std::max(field.value_or(value), value);
}

class Reader {
 public:
  // False: the item has another form.
  bool add(ondemand::object item) {
    const MetricRow* row = nullptr;
    for (std::string& label : labels_) label.clear();
    ondemand::object labels;
    if (item["metric"].get_object().get(labels) != simdjson::SUCCESS) return false;
    for (auto field : labels) {
      std::string_view key, text;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
      if (key == "__name__") {
        if (field.value().get_string().get(text) != simdjson::SUCCESS) return false;
        const auto* const at = std::find_if(kMetrics.begin(), kMetrics.end(),
                                            [&](const MetricRow& m) { return m.name == text; });
        row = at == kMetrics.end() ? nullptr : &*at;
        continue;
      }
      const auto* const known = std::find_if(kLabelNames.begin(), kLabelNames.end(),
                                             [&](const auto& one) { return one.first == key; });
      if (known == kLabelNames.end()) continue;
      if (field.value().get_string().get(text) != simdjson::SUCCESS) return false;
      labels_[known->second] = text.substr(0, limits::kMaxLabelBytes);
    }
    return add_value(item, row);
  }

  ActivitySamples take() && {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      DeviceSample& device = out_.devices[i];
      Parts& parts = parts_[i];
      device.pod = exported_ ? std::move(parts.exported_pod) : std::move(parts.pod);
      device.activity = parts.engine ? parts.engine : parts.util;
    }
    return std::move(out_);
  }
  std::size_t series() const { return out_.series; }

 private:
  // What a device has until all series are read.
  struct Parts {
    std::string pod, exported_pod;
    std::optional<double> engine, util;
  };

  bool add_value(ondemand::object& item, const MetricRow* row) {
    ++out_.series;
    ondemand::array pair;
    if (item["value"].get_array().get(pair) != simdjson::SUCCESS) return false;
    double time = 0;
    std::string_view text;
    std::size_t index = 0;
    for (auto part : pair) {
      const bool good = index == 0   ? part.get_double().get(time) == simdjson::SUCCESS
                        : index == 1 ? part.get_string().get(text) == simdjson::SUCCESS
                                     : false;
      if (!good) return false;
      ++index;
    }
    if (index != 2 || !(time >= 0 && time < 1e11)) return false;
    if (row == nullptr) return true;
    out_.time_ms = std::max(out_.time_ms, static_cast<TimeMs>(time * 1000));
    const std::optional<double> value = number(text);
    if (!value || *value < 0 || *value > row->most) {
      ++out_.invalid;
      device();  // it exists, but its state is not known
      return true;
    }
    store(*row, *value);
    return true;
  }

  void store(const MetricRow& row, double value) {
    const std::size_t at = device();
    switch (row.metric) {
      case Metric::kEngine:
        return raise_to(parts_[at].engine, value);
      case Metric::kUtil:
        return raise_to(parts_[at].util, value / kUtilWhole);
      case Metric::kFramebuffer:
        return raise_to(out_.devices[at].framebuffer_mib, value);
      case Metric::kPower:
        return raise_to(out_.devices[at].watts, value);
      case Metric::kOther:
        return;
    }
  }

  // The index of the device with the present labels.
  std::size_t device() {
    key_.clear();
    for (std::size_t i = 0; i < kLabels; ++i) {
      if (i == kProfile) continue;
      key_ += labels_[i];
      key_ += '\n';
    }
    const auto [at, added] = devices_.try_emplace(key_, out_.devices.size());
    if (!added) return at->second;
    DeviceSample& one = out_.devices.emplace_back();
    one.cluster = labels_[kCluster];
    one.node = labels_[kNode];
    one.other_node = labels_[kOtherNode];
    one.gpu = labels_[kGpu];
    one.uuid = labels_[kUuid];
    one.instance = labels_[kInstance];
    one.profile = labels_[kProfile];
    Parts& parts = parts_.emplace_back();
    parts.pod = name_of(kNamespace, kPod);
    parts.exported_pod = name_of(kExportedNamespace, kExportedPod);
    exported_ |= !parts.exported_pod.empty();
    return at->second;
  }

  std::string name_of(Label ns, Label pod) const {
    if (labels_[ns].empty() || labels_[pod].empty()) return "";
    return labels_[ns] + "/" + labels_[pod];
  }

  ActivitySamples out_;
  std::vector<Parts> parts_;
  std::unordered_map<std::string, std::size_t> devices_;
  // Of the present series.
  Labels labels_;
  std::string key_;
  // True: some series has exported_pod.
  bool exported_ = false;
};

// The error that the server reports; nullopt: the answer is a success.
std::optional<Error> status_error(ondemand::document& document) {
  std::string_view status, message;
  if (document["status"].get_string().get(status) != simdjson::SUCCESS) return malformed();
  if (status == "success") return std::nullopt;
  if (document["error"].get_string().get(message) != simdjson::SUCCESS) return malformed();
  return wrong("prometheus", message, "want a server that can answer the query");
}

}  // namespace

std::string activity_query() {
  std::string names, labels = "__name__";
  for (const MetricRow& row : kMetrics) {
    names += (names.empty() ? "" : "|") + std::string(row.name);
  }
  for (const auto& [name, label] : kLabelNames) labels += "," + std::string(name);
  return "max by (" + labels + ") ({__name__=~\"" + names + "\"})";
}

Result<ActivitySamples> read_samples(std::string_view body) {
  const simdjson::padded_string text(body);
  ondemand::parser parser;
  ondemand::document document;
  if (parser.iterate(text).get(document) != simdjson::SUCCESS) return malformed();
  if (auto error = status_error(document)) return *error;
  ondemand::object data;
  std::string_view type;
  if (document["data"].get_object().get(data) != simdjson::SUCCESS) return malformed();
  if (data["resultType"].get_string().get(type) != simdjson::SUCCESS) return malformed();
  if (type != "vector") return wrong("prometheus.resultType", type, "want vector");
  ondemand::array result;
  if (data["result"].get_array().get(result) != simdjson::SUCCESS) return malformed();
  Reader reader;
  for (auto item : result) {
    ondemand::object object;
    if (item.get_object().get(object) != simdjson::SUCCESS || !reader.add(object)) {
      return malformed();
    }
    if (reader.series() > limits::kMaxActivitySeries) {
      return wrong("prometheus.result", "more than " + std::to_string(limits::kMaxActivitySeries),
                   "want at most that many series of DCGM's metrics");
    }
  }
  return std::move(reader).take();
}

}  // namespace subak
