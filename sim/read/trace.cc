#include "sim/read/trace.h"

#include <algorithm>

#include "core/limits.h"
#include "sim/read/csv.h"

namespace subak::sim {
namespace {

struct Columns {
  std::size_t id = 0, submit = 0, duration = 0, gpus = 0;
  std::optional<std::size_t> type, team, user, pods;
};

Result<Columns> find_columns(const CsvReader& csv) {
  Columns c;
  const std::pair<std::string_view, std::size_t*> needed[] = {
      {"job_id", &c.id}, {"submit_s", &c.submit}, {"duration_s", &c.duration}, {"gpus", &c.gpus}};
  for (const auto& [name, place] : needed) {
    const auto at = csv.need(name);
    if (!at.ok()) return at.error();
    *place = *at;
  }
  c.type = csv.column("gpu_type");
  c.team = csv.column("team");
  c.user = csv.column("user");
  c.pods = csv.column("gang_pods");
  return c;
}

std::vector<std::string> split_products(std::string_view list) {
  std::vector<std::string> products;
  while (!list.empty()) {
    const std::size_t bar = std::min(list.find('|'), list.size());
    if (bar > 0) products.emplace_back(list.substr(0, bar));
    list.remove_prefix(std::min(bar + 1, list.size()));
  }
  std::sort(products.begin(), products.end());
  products.erase(std::unique(products.begin(), products.end()), products.end());
  return products;
}

Result<TraceJob> read_job(const CsvReader& csv, const Columns& c) {
  TraceJob job;
  job.id = csv.field(c.id);
  if (job.id.empty() || job.id.size() > limits::kMaxNameBytes) {
    return csv.error(c.id, "a job id of 1 to 253 bytes");
  }
  const auto submit = csv.seconds(c.submit);
  if (!submit.ok()) return submit.error();
  const auto duration = csv.seconds(c.duration);
  if (!duration.ok()) return duration.error();
  const auto gpus = csv.milligpu(c.gpus);
  if (!gpus.ok()) return gpus.error();
  if (*gpus <= 0 || (*gpus > kMilliPerGpu && *gpus % kMilliPerGpu != 0)) {
    return csv.error(c.gpus, "a whole number of GPUs, or a part of one GPU");
  }
  job.submit_ms = *submit;
  job.duration_ms = std::max<DurationMs>(1, *duration);
  job.milligpu = *gpus;
  job.products = split_products(csv.field(c.type));
  job.team = csv.field(c.team).empty() ? "none" : csv.field(c.team);
  job.user = csv.field(c.user);
  if (!csv.field(c.pods).empty()) {
    const auto most = std::max<std::int64_t>(1, job.milligpu / kMilliPerGpu);
    const auto pods = csv.integer(*c.pods, 1, std::min<std::int64_t>(limits::kMaxPodsPerJob, most));
    if (!pods.ok()) return pods.error();
    job.gang_pods = static_cast<std::uint32_t>(*pods);
  }
  return job;
}

}  // namespace

Result<std::vector<TraceJob>> read_trace(const std::string& path) {
  auto csv = CsvReader::open(path);
  if (!csv.ok()) return csv.error();
  const auto columns = find_columns(**csv);
  if (!columns.ok()) return columns.error();
  std::vector<TraceJob> jobs;
  while (true) {
    const auto more = (*csv)->next();
    if (!more.ok()) return more.error();
    if (!*more) break;
    if (jobs.size() == limits::kMaxTraceRows) {
      return (*csv)->error(std::nullopt,
                           "at most " + std::to_string(limits::kMaxTraceRows) + " jobs");
    }
    auto job = read_job(**csv, *columns);
    if (!job.ok()) return job.error();
    jobs.push_back(std::move(*job));
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submit_ms < b.submit_ms; });
  return jobs;
}

std::string account_name(std::string_view team) {
  std::string name;
  for (const char c : team) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    name += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '_';
  }
  return name.empty() ? "none" : name;
}

}  // namespace subak::sim
