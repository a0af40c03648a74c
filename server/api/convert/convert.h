// Conversion between API messages and the engine's records. put() writes a message. get() reads a
// message strictly: it refuses numbers out of range, bad names, unknown enum values and
// contradictions. The Check gets the first mistake and its field. The engine checks what depends on
// the state, for example whether an account exists. Threads: any; pure functions.
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
#include "server/codec/activity.h"
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
// A time becomes a UTC timestamp with a precision of milliseconds. A time before 1970 becomes an
// invalid timestamp.
void put(TimeMs time, google::protobuf::Timestamp* out);
void put_duration(DurationMs duration, google::protobuf::Duration* out);
// Writes the amount as whole GPU-seconds and a remainder in milli-GPU x ms, so that the two
// together are exact.
void put(GpuTime amount, v1::GpuTime* out);
void put(const ProductAmounts& amounts, Amounts* out);
// Writes a claim, with at most limits::kMaxNodesShown nodes and limits::kMaxVictimsShown victims.
void put(const ClaimRow& row, v1::Claim* out);
void put(const Preemption& preemption, v1::Preemption* out);
void put(const Loan& loan, v1::Loan* out);
// Returns the amounts, sorted by product. Refuses a product that occurs twice, and amounts outside
// 0 to limits::kMaxMilliGpu.
ProductAmounts get_amounts(Check& check, const char* field, const Amounts& in);
// Reads a reason for the audit log: a sentence of at most limits::kMaxReasonBytes.
std::string get_reason(Check& check, const std::string& reason, bool required);
// Reads a job id of the form "1-42". Refuses an empty id.
JobId get_job_id(Check& check, std::string_view field, const std::string& text);
inline std::string text_of(JobId id) { return id ? text::job_id_text(id) : std::string(); }
// The two parts of a path. For "ml.vision/ana", these are "ml.vision" and "ana".
struct PathParts {
  std::string account, user;
};
// Splits the path at its first slash. If there is none, `user` is empty.
PathParts split_path(const std::string& path);
// Returns the path of an account, even of one that was removed. The special accounts have the paths
// "(platform)" and "(unassigned)". An id that the tree does not have gives "(unassigned)" too.
std::string path_of(const AccountTree& tree, AccountId id);

// Writes how busy the GPUs were. `unknown`: the GPU time that was held but not validly measured.
void put(const ActivitySums& sums, GpuTime unknown, v1::Activity* out);

// --- accounts (convert_account.cc) ---------------------------------------------------------------
// Writes an account. Amounts are in milli-GPU. If the account may borrow or lend without a limit,
// that field stays absent.
void put(const AccountSpec& spec, std::int64_t revision, v1::Account* out);
// Returns the fields that an update leaves unchanged. With a mask, these are the fields that the
// mask does not name; "*" names all fields. Without a mask, these are the fields that are unset in
// the account of the request. An unknown name in the mask is a mistake, with the field paths[i].
in::UnchangedFields get_unchanged(Check& check, const v1::Account& account,
                                  const google::protobuf::FieldMask& mask);
// Reads the path of an account, and all fields that are not in `unchanged`. Callers check the
// length and the characters of the path (Check::name()). The engine checks its form.
AccountSpec get(Check& check, const v1::Account& in, const in::UnchangedFields& unchanged);
// Reads an edit of several accounts, without its request id.
in::ApplyAccounts get(Check& check, const v1::ApplyAccountsRequest& in);
// Writes a budget with its figures at `now`, without the account.
void put(const BudgetBook& book, TimeMs now, v1::BudgetRow* out);
in::MoveAccount get(Check& check, const v1::MoveAccountRequest& in);
// Writes the shares and usage of an account. `root_usage_gpu_seconds`: the decayed usage of the
// root at the same instant. The function needs this value to compute norm_usage.
void put(const AccountRow& row, double root_usage_gpu_seconds, v1::ShareRow* out);

// --- what a job asks for (convert_request.cc) ----------------------------------------------------
void put(const PodShape& shape, v1::PodShape* out);
void put(const GangRequest& request, v1::GangRequest* out);
PodShape get(Check& check, const v1::PodShape& in);
GangRequest get(Check& check, const v1::GangRequest& in);
// Reads the groups of a request. It refuses a request without a group, and a number of pods outside
// 1 to limits::kMaxPodsPerJob.
std::vector<PodGroup> get_groups(Check& check, const PodGroups& in);
// Returns a description of a request for people, such as "4x8 nvlink": the pods of the first group
// x the GPUs of each, then the topology. If there are more groups, a "+" follows the GPUs. If there
// is no group, the text is "?".
std::string shape_text(const GangRequest& request);

// --- jobs (convert_job.cc) -----------------------------------------------------------------------
// Reads a job. It also checks the request by the bounds of model/bounds/. A time limit may be at
// most limits::kMaxTimeLimitMs; if it is absent, the job has no limit. The account must be a path
// without a user.
in::SubmitJob get(Check& check, const v1::JobSpec& in);
// Writes a job. The message lists the names of at most limits::kMaxNodesShown nodes, but
// `node_count` counts all nodes of the job. Times that are not set stay absent.
void put(const JobRow& row, const Engine& engine, v1::Job* out);
void put(const Reason& reason, v1::WaitReason* out);
void put(const Explanation& why, const Engine& engine, const ForecastStarts& starts, TimeMs now,
         v1::Explanation* out);
// Returns the expected start of a job, from its reserved nodes and from the forecast. nullopt: the
// job does not wait, cannot start in the present state, or has no estimate yet. If `promised` is
// set, the job starts by `latest`, and this time becomes later only for a cause that Subak names.
// If `calibrated` is set, the quantiles come from past starts. If the start is beyond the horizon
// of the forecast, only `earliest` is set.
std::optional<v1::ExpectedStart> expected_start(const JobRow& row, const ForecastStarts& starts,
                                                TimeMs now);
// Says why there is no start estimate yet; empty if there is one.
std::string no_estimate(const JobRow& row, const ForecastStarts& starts, TimeMs now);
v1::JobState to_proto(JobState state);

// --- clusters (convert_cluster.cc) ---------------------------------------------------------------
void put(const NodeSpec& spec, v1::NodeSpec* out);
// Reads a node. It refuses a node that has GPUs but no product. If `rack` is set and `levels` is
// empty, the rack becomes the first of the levels.
NodeSpec get(Check& check, const v1::NodeSpec& in);
void put(const ClusterView& cluster, v1::Cluster* out);
// Writes a node. Amounts are in milli-GPU, as the fleet counts them now. For an unknown id, the
// spec is empty.
void put_node(const Engine& engine, NodeId id, v1::Node* out);
v1::Mode to_proto(Mode mode);
// Writes an effect (a command to an edge), sent at `now_ms`. The message's field hold_left is the
// time that is then left of the hold. So a launcher need not know the service's time.
void put(const Effect& effect, const std::string& cluster, TimeMs now_ms, v1::Effect* out);

// --- events (convert_observe.cc) -----------------------------------------------------------------
// Reads one event. `cluster`: the cluster of the stream. The field of a mistake begins with the
// name of the event, such as "pod_seen.pod.uid". After a mistake, do not use the result.
in::Body get_event(Check& check, const v1::ObserveRequest& in, const std::string& cluster);

// --- usage and audit (convert_usage.cc) ----------------------------------------------------------
v1::UsageState to_proto(UsageState state);
// Writes a row of the ledger. Accounts are written by their paths, even if they were removed. For a
// node that was removed, only its id is written.
void put(const LedgerEntry& entry, const Engine& engine, v1::LedgerRow* out);
void put(const AuditEntry& entry, v1::AuditEntry* out);

}  // namespace subak::api
