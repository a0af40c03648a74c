// Between API messages and the core's records. `put` writes a message, `get` reads one strictly:
// ranges, names, unknown enum values, contradictions; the Check names the field of the first
// mistake. What only the state can tell (does the account exist?) is the engine's to refuse.
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/reason.h"
#include "engine/engine.h"
#include "engine/input.h"
#include "engine/told_starts.h"
#include "server/api/check.h"
#include "server/runtime/ports.h"
#include "subak/v1/account_service.pb.h"
#include "subak/v1/admin_service.pb.h"
#include "subak/v1/cluster_service.pb.h"
#include "subak/v1/job_service.pb.h"
#include "subak/v1/request.pb.h"
#include "subak/v1/usage_service.pb.h"

namespace subak::api {

// --- basics (convert_basic.cc) -------------------------------------------------------------------
using Amounts = google::protobuf::RepeatedPtrField<v1::ProductAmount>;
using PodGroups = google::protobuf::RepeatedPtrField<v1::PodGroup>;
void put(TimeMs time, google::protobuf::Timestamp* out);
void put_duration(DurationMs duration, google::protobuf::Duration* out);
void put(GpuTime amount, v1::GpuTime* out);
void put(const ProductAmounts& amounts, Amounts* out);
ProductAmounts get_amounts(Check& check, const char* field, const Amounts& in);
std::string get_reason(Check& check, const std::string& reason, bool required);
// "1-42"; none is refused.
JobId get_job_id(Check& check, std::string_view field, const std::string& text);
inline std::string text_of(JobId id) { return id ? text::job_id_text(id) : std::string(); }
// "ml.vision/ana" -> "ml.vision" and "ana".
struct PathParts {
  std::string account, user;
};
PathParts split_path(const std::string& path);
// The path of an account id, also of one that was removed; "(platform)", "(unassigned)".
std::string path_of(const AccountTree& tree, AccountId id);

// --- accounts (convert_account.cc) ---------------------------------------------------------------
void put(const AccountSpec& spec, std::int64_t revision, v1::Account* out);
// Fields that `fields` names ("*": all) are read from `in` into `spec`.
struct AccountMask {
  bool shares = false, quota = false, limit = false, borrow = false, lend = false;
  bool namespaces = false, held = false, draining = false, time_limits = false;
};
AccountMask get_mask(Check& check, const v1::UpdateAccountRequest& in);
AccountMask full_mask();
void get(Check& check, const v1::Account& in, const AccountMask& mask, AccountSpec* spec);
void put(const AccountRow& row, double root_usage_gpu_seconds, v1::ShareRow* out);

// --- what a job asks for (convert_request.cc) ----------------------------------------------------
void put(const PodShape& shape, v1::PodShape* out);
void put(const GangRequest& request, v1::GangRequest* out);
PodShape get(Check& check, const v1::PodShape& in);
GangRequest get(Check& check, const v1::GangRequest& in);
std::vector<PodGroup> get_groups(Check& check, const PodGroups& in);
v1::Topology to_proto(Topology topology);
Topology get_topology(Check& check, v1::Topology in);
// "4x8 nvlink": pods x GPUs of the first group, and what else a person wants to see.
std::string shape_text(const GangRequest& request);

// --- jobs (convert_job.cc) -----------------------------------------------------------------------
in::SubmitJob get(Check& check, const v1::JobSpec& in);
void put(const JobRow& row, const Engine& engine, v1::Job* out);
void put(const Reason& reason, v1::WaitReason* out);
void put(const Explanation& why, const Engine& engine, const ForecastStarts& starts, TimeMs now,
         v1::Explanation* out);
// By the nodes that are kept for it, and by the forecast. nullopt: as things stand it does not start, it
// does not wait, or there is no estimate yet.
std::optional<v1::ExpectedStart> expected_start(const JobRow& row, const ForecastStarts& starts,
                                                TimeMs now);
// Why there is no estimate of its start yet; else empty.
std::string no_estimate(const JobRow& row, const ForecastStarts& starts, TimeMs now);
v1::JobState to_proto(JobState state);

// --- clusters (convert_cluster.cc) ---------------------------------------------------------------
void put(const NodeSpec& spec, v1::NodeSpec* out);
NodeSpec get(Check& check, const v1::NodeSpec& in);
void put(const ClusterView& cluster, v1::Cluster* out);
void put_node(const Engine& engine, NodeId id, v1::Node* out);
v1::Mode to_proto(Mode mode);
// As sent at `now_ms`.
void put(const Effect& effect, const std::string& cluster, TimeMs now_ms, v1::Effect* out);

// --- events (convert_observe.cc) -----------------------------------------------------------------
// `cluster` is that of the stream.
in::Body get_event(Check& check, const v1::ObserveRequest& in, const std::string& cluster);

// --- usage and audit (convert_usage.cc) ----------------------------------------------------------
v1::UsageState to_proto(UsageState state);
void put(const LedgerEntry& entry, const Engine& engine, v1::LedgerRow* out);
void put(const AuditEntry& entry, v1::AuditEntry* out);

}  // namespace subak::api
