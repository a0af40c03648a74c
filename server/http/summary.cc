#include <boost/json.hpp>

#include "core/text.h"
#include "server/http/routes.h"

namespace subak {
namespace {

namespace json = boost::json;

constexpr std::size_t kQueueRows = 50;

json::array accounts(const Engine& engine, TimeMs now) {
  json::array out;
  for (const AccountRow& row : engine.account_rows(now)) {
    if (row.spec.user || row.spec.path.empty()) continue;
    out.push_back({{"account", row.spec.path},
                   {"shares", row.spec.shares},
                   {"norm_shares", row.norm_shares},
                   {"effective_usage", row.effective_usage},
                   {"running_milligpu", row.running},
                   {"held_milligpu", row.held},
                   {"queued_milligpu", row.queued},
                   {"quota_milligpu", row.quota},
                   {"jobs_queued", row.jobs_queued}});
  }
  return out;
}

json::array queue(const Engine& engine, TimeMs now) {
  json::array out;
  for (const JobRow& row : engine.queue(kQueueRows)) {
    out.push_back({{"job", text::job_id_text(row.id)},
                   {"name", row.name},
                   {"account", row.account},
                   {"milligpu", row.milligpu},
                   {"waited_ms", now - row.submit_ms}});
  }
  return out;
}

json::array clusters(const View& view) {
  json::array out;
  for (const ClusterView& cluster : *view.clusters) {
    MilliGpu installed = 0, allocated = 0;
    for (const ProductTotals& product : cluster.products) {
      installed += product.milligpu.installed;
      allocated += product.milligpu.allocated;
    }
    out.push_back({{"cluster", cluster.name},
                   {"mode", enum_name(cluster.mode)},
                   {"synced", cluster.synced},
                   {"installed_milligpu", installed},
                   {"allocated_milligpu", allocated}});
  }
  return out;
}

// By state.
json::object jobs(const View& view) {
  json::object out;
  for (std::size_t state = 0; state < view.jobs.size(); ++state) {
    out[enum_name(static_cast<JobState>(state))] = view.jobs[state];
  }
  return out;
}

}  // namespace

std::string summary_json(const Engine& engine, TimeMs now, std::string_view version) {
  const std::shared_ptr<const View> view = engine.view();
  return json::serialize(json::object{{"version", version},
                                      {"time_ms", now},
                                      {"jobs", jobs(*view)},
                                      {"clusters", clusters(*view)},
                                      {"accounts", accounts(engine, now)},
                                      {"queue", queue(engine, now)}});
}

}  // namespace subak
