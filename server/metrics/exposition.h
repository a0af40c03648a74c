// Writes the Prometheus text format, version 0.0.4. Hand-written because a page has several series
// per account: rendering 100,000 series this way takes a tenth of the time of a registry of
// objects. Threads: none; one per page.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "server/metrics/histogram.h"

namespace subak::metrics {

struct MetricLabel {
  std::string_view name;   // [a-z_]+
  std::string_view value;  // any text; escaped
};
using MetricLabels = std::initializer_list<MetricLabel>;

class Exposition {
 public:
  // Begins a family; its samples follow until the next one. `name` without the prefix subak_.
  // `help` in one line.
  void counter(std::string_view name, std::string_view help) { family(name, "counter", help); }
  void gauge(std::string_view name, std::string_view help) { family(name, "gauge", help); }
  void histogram(std::string_view name, std::string_view help) { family(name, "histogram", help); }

  template <std::integral T>
  void sample(MetricLabels labels, T value) {
    begin("", labels, {});
    text_ += std::to_string(value);
    text_ += '\n';
  }
  void sample(MetricLabels labels, double value);
  void sample(MetricLabels labels, const HistogramSnapshot& histogram);

  std::string take() { return std::move(text_); }

 private:
  void family(std::string_view name, std::string_view type, std::string_view help);
  // Writes `subak_name_suffix{labels} `; `more` is one label more, unless its name is empty.
  void begin(std::string_view suffix, MetricLabels labels, MetricLabel more);
  void number(double value);

  std::string name_;
  std::string text_;
};

}  // namespace subak::metrics
