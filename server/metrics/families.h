// Builds metric families whose values are read at each scrape and not stored between scrapes, such
// as the state of the service, its clusters and domains. Families uses the data model of
// prometheus-cpp, so that the serializer of prometheus-cpp can write the families. Threads: one at
// a time; each page has its own object.
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

// The families of one page, in the order in which they were begun. The class does not check names,
// and accepts two samples with the same labels.
class Families {
 public:
  // counter() and gauge() begin a family. The samples that are added until the next family begins
  // belong to this family. `name` begins with subak_ and has the unit; the name of a counter ends
  // in _total. `help` is one line.
  void counter(std::string_view name, std::string_view help);
  void gauge(std::string_view name, std::string_view help);
  // Adds a sample to the family that was begun last; there must be one. Names of labels match
  // [a-z_]+, and their values may be any text.
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

  // The families so far. The last one gets the samples.
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace subak::metrics
