// Conversion between API messages and the core's records. `put` writes a message. `get` reads one
// strictly: it refuses bad ranges, names, unknown enum values and contradictions. The Check names
// the field of the first mistake. Questions that need the state (does the account exist?) are the
// engine's. Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/reason.h"
#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "model/input.h"
#include "server/api/convert/check.h"
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
// Times become UTC timestamps with milliseconds. A time before 1970 gives no valid one.
void put(TimeMs time, google::protobuf::Timestamp* out);
void put_duration(DurationMs duration, google::protobuf::Duration* out);
// GPU-seconds and a rest in milli-GPU x ms: together exact.
void put(GpuTime amount, v1::GpuTime* out);
void put(const ProductAmounts& amounts, Amounts* out);
// A claim, with at most limits::kMaxNodesShown nodes and victims.
void put(const ClaimRow& row, v1::Claim* out);
// Returns them sorted by product. Refuses a product that occurs twice, and amounts outside 0 to
// limits::kMaxMilliGpu.
ProductAmounts get_amounts(Check& check, const char* field, const Amounts& in);
// A reason for the audit log: a sentence of at most limits::kMaxReasonBytes.
std::string get_reason(Check& check, const std::string& reason, bool required);
// Reads "1-42"; an empty id is refused.
JobId get_job_id(Check& check, std::string_view field, const std::string& text);
inline std::string text_of(JobId id) { return id ? text::job_id_text(id) : std::string(); }
// "ml.vision/ana" -> "ml.vision" and "ana".
struct PathParts {
  std::string account, user;
};
// Splits at the first slash; without one `user` is empty.
PathParts split_path(const std::string& path);
// Returns the path of an account id, also of a removed account; "(platform)", "(unassigned)".
// The latter also for an id that the tree does not have.
std::string path_of(const AccountTree& tree, AccountId id);

// --- accounts (convert_account.cc) ---------------------------------------------------------------
// Amounts in milli-GPU. An unlimited borrow or lend limit is left absent.
void put(const AccountSpec& spec, std::int64_t revision, v1::Account* out);
// The fields that an update leaves as they are: those that its mask does not name.
// Without a mask: the fields that are unset in the account. "*" names all. An unknown name is
// refused as paths[i].
in::UnchangedFields get_unchanged(Check& check, const v1::UpdateAccountRequest& in);
// The path, and all fields that are not unchanged.
// It does not check the path: the callers check it as a name, the engine as a path.
AccountSpec get(Check& check, const v1::Account& in, const in::UnchangedFields& unchanged);
// `root_usage_gpu_seconds`: decayed usage of the root at the same instant, by which norm_usage is
// computed.
void put(const AccountRow& row, double root_usage_gpu_seconds, v1::ShareRow* out);

// --- what a job asks for (convert_request.cc) ----------------------------------------------------
void put(const PodShape& shape, v1::PodShape* out);
void put(const GangRequest& request, v1::GangRequest* out);
PodShape get(Check& check, const v1::PodShape& in);
GangRequest get(Check& check, const v1::GangRequest& in);
// 1 to limits::kMaxPodsPerJob pods in all, in at least one group.
std::vector<PodGroup> get_groups(Check& check, const PodGroups& in);
// Describes a request for people, such as "4x8 nvlink": pods x GPUs of the first group, and the
// topology.
// "?" without a group. "+" follows the GPUs if there are more groups.
std::string shape_text(const GangRequest& request);

// --- jobs (convert_job.cc) -----------------------------------------------------------------------
// Also checks the request by the bounds of model/bounds.h. A time limit is at most
// limits::kMaxTimeLimitMs; absent: none. The account must be a path without a user.
in::SubmitJob get(Check& check, const v1::JobSpec& in);
// At most limits::kMaxNodesShown node names; node_count has their number. Times that are not set
// are left absent.
void put(const JobRow& row, const Engine& engine, v1::Job* out);
void put(const Reason& reason, v1::WaitReason* out);
void put(const Explanation& why, const Engine& engine, const ForecastStarts& starts, TimeMs now,
         v1::Explanation* out);
// Returns the expected start by reserved nodes and by the forecast. nullopt: the job does not wait,
// does not start as things stand, or has no estimate yet.
// `promised`: the job starts by `latest`, which moves later only for a cause. `calibrated`: its
// quantiles come from past starts. A start beyond the forecast's horizon has only `earliest`.
std::optional<v1::ExpectedStart> expected_start(const JobRow& row, const ForecastStarts& starts,
                                                TimeMs now);
// Says why there is no start estimate yet; empty if there is one.
std::string no_estimate(const JobRow& row, const ForecastStarts& starts, TimeMs now);
v1::JobState to_proto(JobState state);

// --- clusters (convert_cluster.cc) ---------------------------------------------------------------
void put(const NodeSpec& spec, v1::NodeSpec* out);
// A node with GPUs needs a product. `rack` alone is the first of `levels`.
NodeSpec get(Check& check, const v1::NodeSpec& in);
void put(const ClusterView& cluster, v1::Cluster* out);
// Amounts in milli-GPU, as the fleet counts them now. An unknown id gives an empty spec.
void put_node(const Engine& engine, NodeId id, v1::Node* out);
v1::Mode to_proto(Mode mode);
// Writes the effect as sent at `now_ms`.
// hold_left is the rest of the hold at now_ms, so a launcher needs no common clock.
void put(const Effect& effect, const std::string& cluster, TimeMs now_ms, v1::Effect* out);

// --- events (convert_observe.cc) -----------------------------------------------------------------
// Reads one event. `cluster` is the stream's.
// The field of a mistake begins with the event's name ("pod_seen.pod.uid"). After a mistake the
// result is not to be used.
in::Body get_event(Check& check, const v1::ObserveRequest& in, const std::string& cluster);

// --- usage and audit (convert_usage.cc) ----------------------------------------------------------
v1::UsageState to_proto(UsageState state);
// Accounts by their paths, also removed ones. A removed node has its id alone.
void put(const LedgerEntry& entry, const Engine& engine, v1::LedgerRow* out);
void put(const AuditEntry& entry, v1::AuditEntry* out);

}  // namespace subak::api
