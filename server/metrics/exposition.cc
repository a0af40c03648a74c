#include "server/metrics/exposition.h"

#include <array>
#include <charconv>
#include <cmath>

namespace subak::metrics {
namespace {

std::string_view spell(double value, std::array<char, 32>& buffer) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  const double size = std::fabs(value);
  const bool usual = size == 0 || (size >= 1e-6 && size < 1e15);  // as people write bounds
  const auto end = usual ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                         std::chars_format::fixed)
                               .ptr
                         : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

void escape(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

void append_label(std::string& out, const MetricLabel& label, bool& first) {
  out += first ? '{' : ',';
  first = false;
  out += label.name;
  out += "=\"";
  escape(out, label.value);
  out += '"';
}

}  // namespace

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = "subak_";
  name_ += name;
  text_ += "# HELP " + name_ + ' ';
  text_ += help;
  text_ += "\n# TYPE " + name_ + ' ';
  text_ += type;
  text_ += '\n';
}

void Exposition::begin(std::string_view suffix, MetricLabels labels, MetricLabel more) {
  text_ += name_;
  text_ += suffix;
  bool first = true;
  for (const MetricLabel& label : labels) append_label(text_, label, first);
  if (!more.name.empty()) append_label(text_, more, first);
  if (!first) text_ += '}';
  text_ += ' ';
}

void Exposition::number(double value) {
  std::array<char, 32> buffer;
  text_ += spell(value, buffer);
  text_ += '\n';
}

void Exposition::sample(MetricLabels labels, double value) {
  begin("", labels, {});
  number(value);
}

void Exposition::sample(MetricLabels labels, const HistogramSnapshot& histogram) {
  std::uint64_t below = 0;
  std::array<char, 32> buffer;
  for (std::size_t i = 0; i < histogram.buckets.size(); ++i) {
    below += histogram.buckets[i];
    const bool last = i == histogram.bounds.size();
    begin("_bucket", labels, {"le", last ? "+Inf" : spell(histogram.bounds[i], buffer)});
    text_ += std::to_string(below) + '\n';
  }
  begin("_sum", labels, {});
  number(histogram.sum);
  begin("_count", labels, {});
  text_ += std::to_string(histogram.count) + '\n';
}

}  // namespace subak::metrics
