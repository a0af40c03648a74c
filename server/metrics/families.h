// Builds metric families whose values are read at each scrape and not stored: state of the service,
// clusters, domains. It uses prometheus-cpp's data model, so that prometheus-cpp's serializer can
// write them. Threads: none; one per page.
#pragma once

#include <prometheus/metric_family.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace subak::metrics {

// Names and values of the labels of one sample.
using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// The families of one page, in the order in which they were begun.
// The class does not check names, and does not detect duplicate samples.
class Families {
 public:
  // Begin a family; its samples follow until the next family begins. `help` is one line.
  // `name` has the prefix subak_ and the unit. The name of a counter ends in _total.
  void counter(std::string_view name, std::string_view help);
  void gauge(std::string_view name, std::string_view help);
  // Adds a sample to the family that was begun last; there must be one. Label names are [a-z_]+,
  // values any text.
  template <class Number>
  void sample(Labels labels, Number value) {
    add(labels, static_cast<double>(value));
  }
  // Returns the page in the text format of Prometheus, version 0.0.4.
  std::string text() const;

 private:
  // Begins a family of this type.
  void begin(std::string_view name, std::string_view help, prometheus::MetricType type);
  void add(Labels labels, double value);

  // The last family gets the samples.
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace subak::metrics
