// Conversion between API messages and the core's records. `put` writes a message. `get` reads one
// strictly: it refuses bad ranges, names, unknown enum values and contradictions. The Check names
// the field of the first mistake. The engine checks all that needs the state (does the account
// exist?). Threads: pure functions.
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
// Times become UTC timestamps with milliseconds. A time before 1970 becomes an invalid timestamp.
void put(TimeMs time, google::protobuf::Timestamp* out);
void put_duration(DurationMs duration, google::protobuf::Duration* out);
// Writes whole GPU-seconds and the remainder in milli-GPU x ms, so that the sum is exact.
void put(GpuTime amount, v1::GpuTime* out);
void put(const ProductAmounts& amounts, Amounts* out);
// A claim, with at most limits::kMaxNodesShown nodes and victims.
void put(const ClaimRow& row, v1::Claim* out);
// Returns the amounts, sorted by product. Refuses a product that occurs twice, and amounts outside
// 0 to limits::kMaxMilliGpu.
ProductAmounts get_amounts(Check& check, const char* field, const Amounts& in);
// Reads a reason for the audit log: a sentence of at most limits::kMaxReasonBytes.
std::string get_reason(Check& check, const std::string& reason, bool required);
// Reads a job id of the form "1-42". Refuses an empty id.
JobId get_job_id(Check& check, std::string_view field, const std::string& text);
inline std::string text_of(JobId id) { return id ? text::job_id_text(id) : std::string(); }
// The parts of a path: of "ml.vision/ana", these are "ml.vision" and "ana".
struct PathParts {
  std::string account, user;
};
// Splits at the first slash; without one `user` is empty.
PathParts split_path(const std::string& path);
// Returns the path of an account, also of a removed one. The special accounts are "(platform)" and
// "(unassigned)". An id that the tree does not have is "(unassigned)" too.
std::string path_of(const AccountTree& tree, AccountId id);

// --- accounts (convert_account.cc) ---------------------------------------------------------------
// Amounts in milli-GPU. An unlimited borrow or lend limit is left absent.
void put(const AccountSpec& spec, std::int64_t revision, v1::Account* out);
// Returns the fields that an update leaves unchanged: those that its mask does not name.
// Without a mask, these are the unset fields of the account. "*" names all fields. An unknown name
// is a mistake of paths[i].
in::UnchangedFields get_unchanged(Check& check, const v1::UpdateAccountRequest& in);
// Reads the path, and all fields that are not in `unchanged`.
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
// Refuses a request without a group, or with a number of pods outside 1 to limits::kMaxPodsPerJob.
std::vector<PodGroup> get_groups(Check& check, const PodGroups& in);
// Describes a request for people, such as "4x8 nvlink": pods x GPUs of the first group, and the
// topology.
// The text is "?" if there is no group. A "+" follows the GPUs if there are more groups.
std::string shape_text(const GangRequest& request);

// --- jobs (convert_job.cc) -----------------------------------------------------------------------
// Also checks the request by the bounds of model/bounds.h. A time limit is at most
// limits::kMaxTimeLimitMs; an absent one means no limit. The account must be a path without a user.
in::SubmitJob get(Check& check, const v1::JobSpec& in);
// The message lists at most limits::kMaxNodesShown node names. `node_count` counts all nodes of the
// job, those not listed too. Times that are not set stay absent.
void put(const JobRow& row, const Engine& engine, v1::Job* out);
void put(const Reason& reason, v1::WaitReason* out);
void put(const Explanation& why, const Engine& engine, const ForecastStarts& starts, TimeMs now,
         v1::Explanation* out);
// Returns the expected start by reserved nodes and by the forecast. nullopt: the job does not wait,
// cannot start in the present state, or has no estimate yet.
// If `promised` is set, the job starts by `latest`. That time moves later only if there is a cause.
// If `calibrated` is set, the quantiles come from past starts. A start beyond the forecast's
// horizon has only `earliest`.
std::optional<v1::ExpectedStart> expected_start(const JobRow& row, const ForecastStarts& starts,
                                                TimeMs now);
// Says why there is no start estimate yet; empty if there is one.
std::string no_estimate(const JobRow& row, const ForecastStarts& starts, TimeMs now);
v1::JobState to_proto(JobState state);

// --- clusters (convert_cluster.cc) ---------------------------------------------------------------
void put(const NodeSpec& spec, v1::NodeSpec* out);
// Refuses a node with GPUs and no product. If only `rack` is set, it becomes the first of `levels`.
NodeSpec get(Check& check, const v1::NodeSpec& in);
void put(const ClusterView& cluster, v1::Cluster* out);
// Writes amounts in milli-GPU, as the fleet counts them now. For an unknown id, the spec is empty.
void put_node(const Engine& engine, NodeId id, v1::Node* out);
v1::Mode to_proto(Mode mode);
// Writes the effect as sent at `now_ms`.
// `hold_left` is the remaining time of the hold at now_ms. So the launcher's clock may differ from
// the service's.
void put(const Effect& effect, const std::string& cluster, TimeMs now_ms, v1::Effect* out);

// --- events (convert_observe.cc) -----------------------------------------------------------------
// Reads one event. `cluster` is the cluster of the stream.
// The field of a mistake begins with the event's name ("pod_seen.pod.uid"). After a mistake, do not
// use the result.
in::Body get_event(Check& check, const v1::ObserveRequest& in, const std::string& cluster);

// --- usage and audit (convert_usage.cc) ----------------------------------------------------------
v1::UsageState to_proto(UsageState state);
// Writes accounts by their paths, also removed ones. A removed node has only its id.
void put(const LedgerEntry& entry, const Engine& engine, v1::LedgerRow* out);
void put(const AuditEntry& entry, v1::AuditEntry* out);

}  // namespace subak::api
