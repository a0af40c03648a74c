#include "server/api/calls/admin_service.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/duration.h"
#include "core/limits.h"
#include "core/text.h"
#include "model/fact.h"
#include "placement/fleet/views.h"
#include "server/api/calls/backup.h"
#include "server/api/calls/known_as.h"
#include "server/api/calls/order_places.h"
#include "server/api/common/paging.h"
#include "server/api/convert/convert.h"
#include "threads/mutex.h"

namespace subak::api {
namespace {

void put_us(std::int64_t us, google::protobuf::Duration* out) {
  out->set_seconds(us / 1'000'000);
  out->set_nanos(static_cast<std::int32_t>(us % 1'000'000) * 1000);
}

void put_process(Shared& shared, v1::Status* out) {
  const RuntimeStats stats = shared.runtime.stats();
  out->set_version(shared.options.version);
  out->set_newest_fact_version(static_cast<std::int32_t>(known_fact_version()));
  const Leadership lead = shared.store.lead();
  out->set_leader(stats.leads && !stats.failed);
  out->set_leader_name(lead.holder);
  out->set_leader_address(lead.address);
  out->set_epoch(lead.epoch);
  if (!stats.leads) put_us(stats.behind_ms * 1000, out->mutable_picture_age());
  const bool is_away = shared.store.waiting_ms() > limits::kDatabaseSlowMs;
  out->set_state(stats.failed                              ? "failed"
                 : is_away                                 ? "waits for the database"
                 : stats.clock.state == ClockState::kWaits ? "waits for accept-clock"
                 : shared.serving                          ? "serving"
                                                           : "not serving");
  out->set_clock_believed(stats.clock.state == ClockState::kBelieved);
  put_us(stats.clock.offset_ms * 1000, out->mutable_clock_offset());
  put(shared.start_ms, out->mutable_start_time());
  out->set_store(shared.store.describe());
  out->set_durable_sequence(shared.follower.stats().durable_seq);
  out->set_mailbox_depth(static_cast<std::int64_t>(stats.mailbox));
  put_us(shared.last.pass_us, out->mutable_last_pass());
  put_us(shared.last.commit_us, out->mutable_last_commit());
  if (std::string warning = shared.auth.warning(); !warning.empty()) {
    out->add_warnings(std::move(warning));
  }
  if (shared.options.reads.warnings) {
    for (std::string& warning : shared.options.reads.warnings())
      out->add_warnings(std::move(warning));
  }
  const MutexLock lock(shared.verified_mutex);
  if (shared.verified_drift) put(*shared.verified_drift, out->mutable_ledger_drift());
}

// Names the free GPUs that are unusable because non-GPU pods take the CPU or memory beside them;
// empty: none.
std::string broken_by_non_gpu_pods(const NonGpuUse& non_gpu) {
  if (non_gpu.short_gpus == 0) return "";
  const auto counted = [](std::int64_t n, const std::string& one, const std::string& more) {
    return std::to_string(n) + " " + (n == 1 ? one : more);
  };
  const char* const what = !non_gpu.short_of_memory ? "CPU"
                           : non_gpu.short_of_cpu   ? "CPU or memory"
                                                    : "memory";
  return counted(non_gpu.short_gpus, "free GPU lacks", "free GPUs lack") + " " + what + " that " +
         counted(non_gpu.broken_pods, "pod", "pods") + " without GPUs " +
         (non_gpu.broken_pods == 1 ? "takes" : "take") + ", in " +
         counted(non_gpu.broken_domains, "NVLink domain", "NVLink domains") +
         (non_gpu.broken_domains == 1
              ? ": "
              : "; most, " + std::to_string(non_gpu.largest_short_gpus) + ", in ") +
         non_gpu.largest;
}

void put_state(const Engine& engine, TimeMs now, v1::Status* out) {
  out->set_follower_sequence(engine.seq());
  const std::shared_ptr<const View> view = engine.view();
  for (const ClusterView& cluster : *view->clusters) put(cluster, out->add_clusters());
  out->set_fact_version(static_cast<std::int32_t>(view->fact_version));
  const auto count = [&view](JobState state) {
    return static_cast<std::int64_t>(view->count(state));
  };
  out->set_jobs_queued(count(JobState::kQueued));
  out->set_jobs_paused(count(JobState::kPaused));
  out->set_jobs_starting(count(JobState::kStarting));
  out->set_jobs_running(count(JobState::kRunning));
  out->set_jobs_incomplete(count(JobState::kIncomplete));
  out->set_jobs_ending(count(JobState::kEnding));
  out->set_ledger_rows(view->ledger_rows);
  put(residual_of(engine.bill(now)), out->mutable_bill_residual());
  put_duration(view->policy.half_life_ms, out->mutable_half_life());
  out->set_order(std::string(enum_name(view->policy.order)));
  for (const ClusterView& cluster : *view->clusters) {
    for (const std::string& what :
         topology_contradictions(engine.fleet(), cluster.id, limits::kMaxBlockers)) {
      out->add_warnings("cluster " + cluster.name + ": " + what);
    }
    const std::string broken = broken_by_non_gpu_pods(non_gpu_use(engine.fleet(), cluster.id));
    if (!broken.empty()) out->add_warnings("cluster " + cluster.name + ": " + broken);
  }
}

struct AuditPage {
  Call call;
  v1::ListAuditResponse* out;
  AuditQuery query;
  Page page;
};

void read_audit(const AuditPage& a, StoreReader& store) {
  const auto rows = store.audit(a.query);
  if (!rows) {
    a.call.fail(rows.error());
    return;
  }
  PageMeter meter(a.page);
  for (const AuditEntry& entry : *rows) {
    v1::AuditEntry* row = a.out->add_entries();
    put(entry, row);
    if (meter.add(row->ByteSizeLong())) continue;
    a.out->set_next_page_token(std::to_string(entry.seq));
    break;
  }
  a.call.done();
}

}  // namespace

AdminService::Reactor* AdminService::GetStatus(Context* context, const v1::GetStatusRequest*,
                                               v1::Status* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer, Moments::kAny)) return call.reactor();
  return call.read([out, call, &shared = shared_](const Engine& engine) -> std::optional<Error> {
    if (!call.is_past()) put_process(shared, out);
    put_state(engine, call.now(engine), out);
    if (call.is_past()) return std::nullopt;  // no fact describes the processes of that time
    put_known_as(*shared.runtime.view(), out->mutable_clusters());
    return std::nullopt;
  });
}

AdminService::Reactor* AdminService::ListAudit(Context* context, const v1::ListAuditRequest* in,
                                               v1::ListAuditResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kAdmin)) return call.reactor();
  Check check;
  AuditQuery query;
  const Page page = read_page(check, in->page_size(), in->page_token());
  query.subject = check.known_name("subject", in->subject(), false);
  query.before_seq = page.after == 0 ? INT64_MAX : page.after;
  query.most = page.size;
  if (!check.ok()) return call.fail(check.error());
  return call.store_then([a = AuditPage{call, out, std::move(query), page}](StoreReader& store) {
    read_audit(a, store);
  });
}

grpc::ServerWriteReactor<v1::BackupResponse>* AdminService::Backup(Context* context,
                                                                   const v1::BackupRequest*) {
  const Admission admission = admit_stream(shared_, *context, Role::kAdmin);
  auto stream =
      std::make_shared<BackupStream>(shared_.streams, shared_.desks.backups, shared_.store);
  if (!stream->begin(StreamKind::kBackup, admission)) return stream.get();
  if (const auto why =
          shared_.why_no_change()) {  // a copy needs data of the store that only the leader has
    stream->close(*why);
  } else {
    stream->start(shared_.follower, admission.caller->actor);
  }
  return stream.get();
}

AdminService::Reactor* AdminService::Finalize(Context* context, const v1::FinalizeRequest* in,
                                              v1::FinalizeResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kAdmin)) return call.reactor();
  Check check;
  in::Finalize body;
  const std::int64_t version =
      check.number("fact_version", in->fact_version(), 0, std::int64_t{known_fact_version()});
  body.version = version == 0 ? known_fact_version() : static_cast<std::uint32_t>(version);
  body.reason = get_reason(check, in->reason(), true);
  body.validate_only = in->validate_only();
  check.name("request_id", in->request_id(), false);
  if (!check.ok()) return call.fail(check.error());
  out->set_previous_fact_version(static_cast<std::int32_t>(shared_.runtime.view()->fact_version));
  return call.post(std::move(body), fingerprint_of(*in), [out](const Reply& reply) {
    out->set_fact_version(static_cast<std::int32_t>(reply.revision));
    out->set_repeated_request(reply.repeated);
  });
}

AdminService::Reactor* AdminService::AcceptClock(Context* context, const v1::AcceptClockRequest* in,
                                                 v1::AcceptClockResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kAdmin)) return call.reactor();
  Check check;
  in::AcceptClock body;
  body.reason = get_reason(check, in->reason(), true);
  body.validate_only = in->validate_only();
  check.name("request_id", in->request_id(), false);
  if (!check.ok()) return call.fail(check.error());
  put(shared_.runtime.now_ms(), out->mutable_previous_time());
  return call.post(std::move(body), fingerprint_of(*in), [out](const Reply& reply) {
    put(TimeMs{reply.revision}, out->mutable_time());
    out->set_repeated_request(reply.repeated);
  });
}

// Any replica accepts this call: a replica that knows missing facts does not lead.
AdminService::Reactor* AdminService::AcceptLoss(Context* context, const v1::AcceptLossRequest* in,
                                                v1::AcceptLossResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kAdmin)) return call.reactor();
  Check check;
  LossAsked asked;
  asked.until = in->until();
  asked.actor = call.caller().actor;
  asked.reason = get_reason(check, in->reason(), true);
  asked.validate_only = in->validate_only();
  if (!check.ok()) return call.fail(check.error());
  if (!shared_.options.accept_loss) {
    return call.fail({ErrorCode::kPrecondition, "until", std::to_string(asked.until),
                      "the store belongs to this process alone, so it has lost no facts"});
  }
  const auto seen = shared_.options.accept_loss(asked);
  if (!seen.ok()) return call.fail(seen.error());
  out->set_until(asked.until);
  out->set_known_sequence(seen->known_seq);
  put(seen->known_ms, out->mutable_known_time());
  return call.done();
}

namespace {

// A call names each key once, and there are fewer keys than this.
constexpr std::int64_t kMostChanges = 64;

using Changes = std::vector<std::pair<std::string, std::string>>;

// Writes the values of `now`. `before`: the policy before a change.
void put_values(const ApiOptions& options, const Policy& before, const Policy& now,
                v1::PolicyResponse* out) {
  if (!options.reads.policy_values) return;
  const std::vector<PolicyValue> was = options.reads.policy_values(before);
  std::size_t i = 0;
  for (PolicyValue& value : options.reads.policy_values(now)) {
    v1::PolicyResponse::Value* const one = out->add_values();
    if (was[i].value != value.value) one->set_before(was[i].value);
    ++i;
    one->set_key(std::move(value.key));
    one->set_value(std::move(value.value));
    one->set_configured(value.configured);
    one->set_help(std::move(value.help));
    one->set_form(std::move(value.form));
  }
}

void put_change(const Shared& shared, DurationMs half_life_ms, std::uint64_t seq,
                v1::PolicyResponse* out) {
  v1::PolicyResponse::HalfLifeChange* const change = out->mutable_half_life_change();
  change->set_half_life(half_life_ms == 0 ? "infinite" : format_duration(half_life_ms));
  change->set_facts(static_cast<std::int64_t>(seq));
  if (!shared.options.reads.half_life_facts) return;
  const std::uint64_t read = shared.options.reads.half_life_facts();
  change->set_facts_read(static_cast<std::int64_t>(std::min(read, seq)));
}

Result<Policy> with_changes(const ApiOptions& options, const Policy& now, const Changes& changes) {
  if (options.reads.policy_with) return options.reads.policy_with(now, changes);
  return Error{ErrorCode::kNotFound, "changes", "", "this service has no keys of the policy"};
}

}  // namespace

AdminService::Reactor* AdminService::GetPolicy(Context* context, const v1::GetPolicyRequest* /*in*/,
                                               v1::PolicyResponse* out) {
  Call call(shared_, context);
  if (!call.allow(Role::kViewer)) return call.reactor();
  return call.read([out, &shared = shared_](const Engine& engine) -> std::optional<Error> {
    put_values(shared.options, engine.policy(), engine.policy(), out);
    const HalfLifeChange& change = engine.policy().fair_share.change;
    if (change.seq != 0) put_change(shared, change.half_life_ms, change.seq, out);
    return std::nullopt;
  });
}

AdminService::Reactor* AdminService::SetPolicy(Context* context, const v1::SetPolicyRequest* in,
                                               v1::PolicyResponse* out) {
  Call call(shared_, context);
  if (!call.allow_change(Role::kAdmin)) return call.reactor();
  Check check;
  in::SetPolicy body;
  body.edit.reason = get_reason(check, in->reason(), true);
  body.edit.validate_only = in->validate_only();
  body.edit.expects = true;
  check.name("request_id", in->request_id(), false);
  check.number("changes", in->changes_size(), 1, kMostChanges);
  Changes changes;
  for (int i = 0; i < in->changes_size() && check.ok(); ++i) {
    const auto scope = check.in("changes", i);
    changes.emplace_back(check.name("key", in->changes(i).key(), true),
                         check.name("value", in->changes(i).value(), true));
  }
  if (!check.ok()) return call.fail(check.error());
  return call.read_then([call, in, out, body, changes, &shared = shared_](const Engine& engine) {
    in::SetPolicy edit = body;
    edit.edit.expected = engine.policy();
    Result<Policy> next = with_changes(shared.options, engine.policy(), changes);
    if (!next) {
      call.fail(next.error());
      return;
    }
    edit.policy = *next;
    put_order(engine, {&edit.policy, {}}, out->mutable_order());
    const DurationMs half_life_ms = edit.policy.half_life_ms;
    const bool is_used = engine.accounts().usage_undecayed(kRootAccount, engine.now()) != GpuTime();
    if (half_life_ms != engine.policy().half_life_ms && is_used) {
      put_change(shared, half_life_ms, engine.seq(), out);
      out->mutable_half_life_change()->set_facts_read(0);
    }
    call.post(edit, fingerprint_of(*in), [edit, out, &shared](const Reply& reply) {
      out->set_repeated_request(reply.repeated);
      const Policy& before = reply.repeated ? edit.policy : edit.edit.expected;
      put_values(shared.options, before, edit.policy, out);
    });
  });
}

}  // namespace subak::api
