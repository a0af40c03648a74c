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
void put(TimeMs time, google::protobuf::Timestamp* out);
void put_duration(DurationMs duration, google::protobuf::Duration* out);
void put(GpuTime amount, v1::GpuTime* out);
void put(const ProductAmounts& amounts, Amounts* out);
ProductAmounts get_amounts(Check& check, const char* field, const Amounts& in);
std::string get_reason(Check& check, const std::string& reason, bool required);
// Reads "1-42"; an empty id is refused.
JobId get_job_id(Check& check, std::string_view field, const std::string& text);
inline std::string text_of(JobId id) { return id ? text::job_id_text(id) : std::string(); }
// "ml.vision/ana" -> "ml.vision" and "ana".
struct PathParts {
  std::string account, user;
};
PathParts split_path(const std::string& path);
// Returns the path of an account id, also of a removed account; "(platform)", "(unassigned)".
std::string path_of(const AccountTree& tree, AccountId id);

// --- accounts (convert_account.cc) ---------------------------------------------------------------
void put(const AccountSpec& spec, std::int64_t revision, v1::Account* out);
// The fields that an update leaves as they are: those that its mask does not name.
in::UnchangedFields get_unchanged(Check& check, const v1::UpdateAccountRequest& in);
// The path, and all fields that are not unchanged.
AccountSpec get(Check& check, const v1::Account& in, const in::UnchangedFields& unchanged);
void put(const AccountRow& row, double root_usage_gpu_seconds, v1::ShareRow* out);

// --- what a job asks for (convert_request.cc) ----------------------------------------------------
void put(const PodShape& shape, v1::PodShape* out);
void put(const GangRequest& request, v1::GangRequest* out);
PodShape get(Check& check, const v1::PodShape& in);
GangRequest get(Check& check, const v1::GangRequest& in);
std::vector<PodGroup> get_groups(Check& check, const PodGroups& in);
// Describes a request for people, such as "4x8 nvlink": pods x GPUs of the first group, and the
// topology.
std::string shape_text(const GangRequest& request);

// --- jobs (convert_job.cc) -----------------------------------------------------------------------
in::SubmitJob get(Check& check, const v1::JobSpec& in);
void put(const JobRow& row, const Engine& engine, v1::Job* out);
void put(const Reason& reason, v1::WaitReason* out);
void put(const Explanation& why, const Engine& engine, const ForecastStarts& starts, TimeMs now,
         v1::Explanation* out);
// Returns the expected start by reserved nodes and by the forecast. nullopt: the job does not wait,
// does not start as things stand, or has no estimate yet.
std::optional<v1::ExpectedStart> expected_start(const JobRow& row, const ForecastStarts& starts,
                                                TimeMs now);
// Says why there is no start estimate yet; empty if there is one.
std::string no_estimate(const JobRow& row, const ForecastStarts& starts, TimeMs now);
v1::JobState to_proto(JobState state);

// --- clusters (convert_cluster.cc) ---------------------------------------------------------------
void put(const NodeSpec& spec, v1::NodeSpec* out);
NodeSpec get(Check& check, const v1::NodeSpec& in);
void put(const ClusterView& cluster, v1::Cluster* out);
void put_node(const Engine& engine, NodeId id, v1::Node* out);
v1::Mode to_proto(Mode mode);
// Writes the effect as sent at `now_ms`.
void put(const Effect& effect, const std::string& cluster, TimeMs now_ms, v1::Effect* out);

// --- events (convert_observe.cc) -----------------------------------------------------------------
// Reads one event. `cluster` is the stream's.
in::Body get_event(Check& check, const v1::ObserveRequest& in, const std::string& cluster);

// --- usage and audit (convert_usage.cc) ----------------------------------------------------------
v1::UsageState to_proto(UsageState state);
void put(const LedgerEntry& entry, const Engine& engine, v1::LedgerRow* out);
void put(const AuditEntry& entry, v1::AuditEntry* out);

}  // namespace subak::api
