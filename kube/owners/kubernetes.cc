// Kubernetes' own owners, JobSet and LeaderWorkerSet, and what all forms of owners share.
#include <algorithm>

#include "core/duration.h"
#include "core/limits.h"
#include "core/names.h"
#include "kube/owners/kinds.h"
#include "kube/owners/reader.h"
#include "kube/quantity.h"

namespace subak {
namespace {

// A count that no gang may have.
constexpr std::int64_t kTooMany = limits::kMaxPodsPerJob + 1;

std::optional<std::int64_t> limit_of(json::Value spec, std::string_view key) {
  if (!json::member(spec, key)) return std::nullopt;
  return count_of(spec, key);
}

// Returns the number of failures that a Job knows and that are not counted in status.failed yet.
std::uint32_t uncounted_failures(json::Value status) {
  std::uint32_t failures = 0;
  const auto uncounted = json::member(status, "uncountedTerminatedPods");
  const auto failed = uncounted ? json::member(*uncounted, "failed") : std::nullopt;
  if (failed) json::each_item(*failed, [&](std::size_t, json::Value) { ++failures; });
  return failures;
}

// Counts the indexes in a text like "1,3-5". Returns 0 for other text.
std::int64_t count_indexes(std::string_view text) {
  std::int64_t sum = 0;
  while (!text.empty() && sum < kTooMany) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t dash = part.find('-');
    const std::int64_t first = whole_number<std::int64_t>(part.substr(0, dash)).value_or(-1);
    const std::int64_t last = dash == std::string_view::npos
                                  ? first
                                  : whole_number<std::int64_t>(part.substr(dash + 1)).value_or(-1);
    if (first >= 0 && last >= first) sum += std::min(last - first + 1, kTooMany);
  }
  return std::min(sum, kTooMany);
}

// True if a rule of its failurePolicy restarts one job, and the others continue.
bool restarts_single_jobs(json::Value spec) {
  const auto policy = json::member(spec, "failurePolicy");
  const auto rules = policy ? json::member(*policy, "rules") : std::nullopt;
  bool single = false;
  if (!rules) return false;
  json::each_item(*rules, [&](std::size_t, json::Value rule) {
    single = single || restarts_single_job(json::text(rule, "action"));
  });
  return single;
}

// jobset api/jobset/v1alpha2: its webhook refuses a job's other pods until the first has a node,
// unless people label the nodes themselves.
constexpr std::string_view kExclusiveTopology = "alpha.jobset.sigs.k8s.io/exclusive-topology";
constexpr std::string_view kNodeSelectorStrategy = "alpha.jobset.sigs.k8s.io/node-selector";

bool is_exclusive(json::Value object) {
  const auto metadata = json::member(object, "metadata");
  const auto marks = metadata ? json::member(*metadata, "annotations") : std::nullopt;
  return marks && json::member(*marks, kExclusiveTopology) &&
         !json::member(*marks, kNodeSelectorStrategy);
}

}  // namespace

std::uint32_t count_of(json::Value object, std::string_view key, std::int64_t otherwise) {
  const auto found = json::member(object, key);
  const std::int64_t n = found ? json::integer(*found, otherwise) : otherwise;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(n, 0, kTooMany));
}

bool has_condition(std::optional<json::Value> status,
                   std::initializer_list<std::string_view> types) {
  bool holds = false;
  const auto conditions = status ? json::member(*status, "conditions") : std::nullopt;
  if (!conditions) return holds;
  json::each_item(*conditions, [&](std::size_t, json::Value c) {
    const std::string_view type = json::text(c, "type");
    const bool asked = std::find(types.begin(), types.end(), type) != types.end();
    holds = holds || (asked && json::text(c, "status") == "True");
  });
  return holds;
}

bool restarts_single_job(std::string_view action) {
  return action.starts_with("RestartJob") && !action.starts_with("RestartJobSet");
}

void OwnerReader::metadata(json::Value object) {
  const Pod meta = read_pod(object, extra_);  // only its metadata matters
  out_.ns = meta.ns;
  out_.name = meta.name;
  out_.uid = meta.uid;
  out_.resource_version = meta.resource_version;
  out_.parent = meta.owner.uid;
  out_.deleted = !meta.deleted_at.empty();
  const OwnerKindRow* const above = find_owner_kind(meta.owner.api_version, meta.owner.kind);
  is_parked_ = find_text(meta.annotations, names::kSuspendedBy) == names::kParked ||
               (above != nullptr && above->kind == OwnerKind::kTrainJob);
  const auto created = parse_time(meta.created_at, "");
  created_ms_ = created ? *created : 0;
  out_.first_of_each_job = out_.kind == OwnerKind::kJobSet && is_exclusive(object);
}

void OwnerReader::job(json::Value spec, Status status) {
  out_.suspended = json::boolean(spec, "suspend");
  out_.ended = has_condition(status, {"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"});
  out_.has_deadline = json::member(spec, "activeDeadlineSeconds").has_value();
  out_.backoff_limit = count_of(spec, "backoffLimit", 6);
  if (status) out_.failed = count_of(*status, "failed", 0) + uncounted_failures(*status);
  if (status) out_.succeeded = count_of(*status, "succeeded", 0);
  if (status) out_.failed_indexes = count_indexes(json::text(*status, "failedIndexes"));
  out_.backoff_limit_per_index = limit_of(spec, "backoffLimitPerIndex");
  out_.max_failed_indexes = limit_of(spec, "maxFailedIndexes");
  out_.success_policy = json::member(spec, "successPolicy").has_value();
  const std::uint32_t stated = role("", spec, "spec.template.", 1);
  const bool indexed = json::text(spec, "completionMode") == "Indexed";
  if (indexed) out_.indexes = count_of(spec, "completions", 0);
  const bool whole = indexed && !out_.backoff_limit_per_index &&
                     count_of(spec, "completions", 0) == count_of(spec, "parallelism");
  if (stated == 0 ? whole : stated > 1) out_.together = Together::kAll;
  out_.replaced_alone = out_.together == Together::kAll && stated == 0;
  if (out_.together == Together::kNone || stated == 0) leave_out_done(spec);
}

void OwnerReader::job_set(json::Value spec, Status status) {
  out_.suspended = json::boolean(spec, "suspend");
  out_.ended = has_condition(status, {"Completed", "Failed"});
  out_.replaced_alone = restarts_single_jobs(spec);
  const auto policy = json::member(spec, "startupPolicy");
  out_.in_order = policy && json::text(*policy, "startupPolicyOrder") == "InOrder";
  const auto jobs = json::member(spec, "replicatedJobs");
  bool alone = false;
  if (jobs) {
    json::each_item(*jobs, [&](std::size_t i, json::Value replicated) {
      if (json::member(replicated, "dependsOn")) out_.in_order = true;
      const auto made = json::member(replicated, "template");
      const auto job = made ? json::member(*made, "spec") : std::nullopt;
      if (!job || full()) return;
      out_.first_of_each_job = out_.first_of_each_job || is_exclusive(*made);
      const std::string path = "spec.replicatedJobs[" + std::to_string(i) + "].template.";
      const std::uint32_t stated = role(json::text(replicated, "name"), *job,
                                        path + "spec.template.", count_of(replicated, "replicas"));
      alone = alone || stated == 1;
    });
  }
  out_.together = alone ? Together::kNone : out_.in_order ? Together::kEachJob : Together::kAll;
}

void OwnerReader::worker_set(json::Value spec, Status) {
  const std::uint32_t copies = count_of(spec, "replicas");
  out_.leader_first = json::text(spec, "startupPolicy") == "LeaderReady";
  const auto group = json::member(spec, "leaderWorkerTemplate");
  if (!group) return;
  const std::uint32_t size = count_of(*group, "size");
  const std::string_view restarts = json::text(*group, "restartPolicy");
  out_.replaced_alone = restarts == "None" || restarts == "Default";
  const auto workers = json::member(*group, "workerTemplate");
  const auto leader = json::member(*group, "leaderTemplate");
  const std::string path = "spec.leaderWorkerTemplate.";
  if (leader) {
    add("leader", *leader, path + "leaderTemplate.", copies, 1);
  } else if (workers) {
    add("leader", *workers, path + "workerTemplate.", copies, 1);
  }
  if (workers && size > 1) add("worker", *workers, path + "workerTemplate.", copies, size - 1);
  out_.together = Together::kEachReplica;
}

void OwnerReader::replicas(json::Value spec, Status) {
  const auto made = json::member(spec, "template");
  if (made) add("", *made, "spec.template.", count_of(spec, "replicas"), 1);
}

std::uint32_t OwnerReader::role(std::string_view name, json::Value job, const std::string& path,
                                std::uint32_t copies) {
  const auto made = json::member(job, "template");
  std::uint32_t pods = count_of(job, "parallelism");
  if (json::member(job, "completions")) pods = std::min(pods, count_of(job, "completions"));
  const std::size_t before = out_.roles.size();
  const std::uint32_t stated = made ? add(name, *made, path, copies, pods) : 0;
  if (out_.roles.size() > before) {
    out_.roles.back().independent =
        stated == 0 && json::member(job, "backoffLimitPerIndex").has_value();
  }
  return stated;
}

std::uint32_t OwnerReader::add(std::string_view name, json::Value made, const std::string& path,
                               std::uint32_t copies, std::uint32_t pods) {
  if (out_.roles.size() == limits::kMaxTemplates) {
    more_ = true;
    return 0;
  }
  Pod pod = read_pod(made, extra_, path, out_.ns);
  OwnerRole& r = out_.roles.emplace_back();
  r.name = name;
  r.copies = copies;
  r.pods = pods;
  if (!pod.mistakes.empty()) r.wrong = std::move(pod.mistakes.front());
  r.shape = pod.shape;
  r.claims = !pod.claims.device.empty();
  if (is_parked_ && !pod.keys.job.set && !pod.in_domain() && !r.claims && !r.wrong) {
    PodRecord record = pod_record(pod, false);
    record.created_at_ms = created_ms_;
    r.record = std::make_shared<const PodRecord>(std::move(record));
  }
  r.stated = stated_gang_size(pod);
  r.gang = named_gang(pod);
  return r.stated;
}

void OwnerReader::leave_out_done(json::Value spec) {
  if (!json::member(spec, "completions") || out_.roles.empty()) return;
  const std::int64_t left =
      std::int64_t{count_of(spec, "completions")} - out_.succeeded - out_.failed_indexes;
  OwnerRole& r = out_.roles.front();
  r.pods = static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 0, r.pods));
}

}  // namespace subak
