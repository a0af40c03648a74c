#include "server/metrics/families.h"

#include <prometheus/text_serializer.h>

namespace subak::metrics {

void Families::counter(std::string_view name, std::string_view help) {
  begin(name, help, prometheus::MetricType::Counter);
}

void Families::gauge(std::string_view name, std::string_view help) {
  begin(name, help, prometheus::MetricType::Gauge);
}

std::string Families::text() const { return prometheus::TextSerializer().Serialize(families_); }

void Families::begin(std::string_view name, std::string_view help, prometheus::MetricType type) {
  prometheus::MetricFamily& family = families_.emplace_back();
  family.name = name;
  family.help = help;
  family.type = type;
}

void Families::add(Labels labels, double value) {
  prometheus::MetricFamily& family = families_.back();
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  for (const auto& [name, text] : labels) {
    metric.label.push_back({std::string(name), std::string(text)});
  }
  (family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) =
      value;
}

}  // namespace subak::metrics
