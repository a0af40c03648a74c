#include "server/service/configure.h"

#include <future>
#include <utility>

#include "core/names.h"
#include "core/text.h"
#include "model/fact.h"

namespace subak {
namespace {

constexpr char kReason[] = "configuration";

in::SetCluster wanted(const Config& config, const ClusterConfig& cluster) {
  in::SetCluster edit;
  edit.name = cluster.name;
  edit.mode = cluster.mode.value_or(config.mode.value_or(Mode::kObserve));
  edit.namespaces = cluster.namespaces;
  edit.reason = kReason;
  return edit;
}

// If the configuration does not name exceptions of a cluster, those of the view stay.
bool names_a_mode(const Config& config, const ClusterConfig& cluster) {
  return cluster.mode || config.mode || (!config.clusters.empty() && !cluster.namespaces.empty());
}

void edit_cluster(const Config& config, const ClusterConfig& cluster, const ClusterView* now,
                  const LastConfigured& last, std::vector<in::Body>& edits) {
  const in::SetCluster edit = wanted(config, cluster);
  if (now != nullptr) {
    if (!names_a_mode(config, cluster)) return;
    if (now->mode == edit.mode && now->namespaces == edit.namespaces) return;
  }
  const std::optional<fact::ClusterSet> said = last(cluster.name);
  if (said && said->mode == edit.mode && said->namespaces == edit.namespaces) return;
  edits.emplace_back(edit);
}

// Returns the clusters that the configuration applies to: its list, else all existing ones, else
// one.
std::vector<ClusterConfig> named_clusters(const Config& config, const View& view) {
  if (!config.clusters.empty()) return config.clusters;
  std::vector<ClusterConfig> out;
  for (const ClusterView& cluster : *view.clusters) {
    out.push_back({cluster.name, std::nullopt, cluster.namespaces});
  }
  if (out.empty()) out.push_back({std::string(names::kFirstCluster), std::nullopt, {}});
  return out;
}

const ClusterView* find(const View& view, const std::string& name) {
  for (const ClusterView& cluster : *view.clusters) {
    if (cluster.name == name) return &cluster;
  }
  return nullptr;
}

std::optional<fact::ClusterSet> last_configured(StoreReader& reader, const std::string& cluster) {
  AuditQuery query;
  query.subject = cluster;
  query.actor = kConfigActor;
  const Result<std::vector<AuditEntry>> entries = reader.audit(query);
  if (!entries) return std::nullopt;
  for (const AuditEntry& entry : *entries) {
    if (entry.what != fact::ClusterSet::kName || entry.subject != cluster) continue;
    Result<fact::ClusterSet> said = from_text<fact::ClusterSet>(entry.after);
    if (said) return std::move(said).value();
  }
  return std::nullopt;
}

std::optional<Error> post_and_wait(Runtime& runtime, std::vector<in::Body> edits) {
  std::vector<Input> inputs;
  for (in::Body& edit : edits) {
    Input input;
    input.actor = kConfigActor;
    input.body = std::move(edit);
    inputs.push_back(std::move(input));
  }
  std::promise<std::optional<Error>> answer;
  std::future<std::optional<Error>> done = answer.get_future();
  const bool queued =
      runtime.post_many(std::move(inputs), [&answer](const std::vector<Reply>& replies) {
        std::optional<Error> first;
        for (const Reply& reply : replies) {
          if (!first) first = reply.error;
        }
        answer.set_value(first);
      });
  if (!queued) {
    return Error{ErrorCode::kPrecondition, "clusters", "", "the runtime accepts no edits"};
  }
  return done.get();
}

// Returns "name=value" of each field, in their order.
std::vector<std::string> texts(Policy policy) {
  std::vector<std::string> out;
  const auto add = [&out](int, std::string_view name, auto& value) {
    text::write_value(out.emplace_back(std::string(name) + "="), value);
  };
  policy.fields(add);
  return out;
}

Result<std::vector<in::Body>> edits_now(const Config& config, const Runtime& runtime,
                                        Store& store) {
  Result<std::unique_ptr<StoreReader>> reader = store.open_reader();
  if (!reader) return reader.error();
  return edits_for(config, *runtime.view(), [&reader](const std::string& cluster) {
    return last_configured(*reader.value(), cluster);
  });
}

}  // namespace

std::vector<in::Body> edits_for(const Config& config, const View& view,
                                const LastConfigured& last) {
  std::vector<in::Body> edits;
  if (view.seq == 0) edits.emplace_back(in::Finalize{known_fact_version(), "new store", false});
  const Policy policy = config.policy_over(view.policy);
  if (policy != view.policy) edits.emplace_back(in::SetPolicy{policy, {}});
  for (const ClusterConfig& cluster : named_clusters(config, view)) {
    edit_cluster(config, cluster, find(view, cluster.name), last, edits);
  }
  return edits;
}

std::vector<std::string> differences(const std::vector<in::Body>& edits, const View& view) {
  std::vector<std::string> out;
  for (const in::Body& edit : edits) {
    if (const auto* const set = std::get_if<in::SetPolicy>(&edit)) {
      const std::vector<std::string> ours = texts(set->policy), theirs = texts(view.policy);
      for (std::size_t i = 0; i < ours.size(); ++i) {
        if (ours[i] != theirs[i]) out.push_back(ours[i] + ", in force " + theirs[i]);
      }
    } else if (const auto* const cluster = std::get_if<in::SetCluster>(&edit)) {
      const ClusterView* const now = find(view, cluster->name);
      const std::string mode(now == nullptr ? "nothing" : enum_name(now->mode));
      out.push_back("cluster " + cluster->name + " mode " + std::string(enum_name(cluster->mode)) +
                    ", in force " + mode);
    }
  }
  return out;
}

std::vector<std::string> policy_differences(const Config& config, const View& view) {
  const Policy policy = config.policy_over(view.policy);
  if (policy == view.policy) return {};
  return differences({in::SetPolicy{policy, {}}}, view);
}

std::optional<Error> configure(const Config& config, Runtime& runtime, Store& store) {
  Result<std::vector<in::Body>> edits = edits_now(config, runtime, store);
  if (!edits) return edits.error();
  if (edits->empty()) return std::nullopt;
  return post_and_wait(runtime, *std::move(edits));
}

Result<std::vector<std::string>> not_put_in(const Config& config, const Runtime& runtime,
                                            Store& store) {
  const Result<std::vector<in::Body>> edits = edits_now(config, runtime, store);
  if (!edits) return edits.error();
  return differences(*edits, *runtime.view());
}

}  // namespace subak
