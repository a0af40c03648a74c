#include "server/metrics/events.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <variant>

#include "admission/policy.h"
#include "model/bounds/pass_limits.h"
#include "model/request.h"

namespace subak::metrics {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildHistogram;
using Bounds = prometheus::Histogram::BucketBoundaries;

auto& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}

auto& histogram(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildHistogram().Name(name).Help(help).Register(registry);
}

const Bounds& wait_bounds() {
  static const Bounds bounds{1,    5,      15,     60,     300,     900,
                             3600, 14'400, 43'200, 86'400, 259'200, 604'800};
  return bounds;
}

// Causes of a hold that was never used.
constexpr std::array kReleaseCauses{Cause::kRejected, Cause::kNodeLost};

double seconds(std::int64_t us) { return static_cast<double>(us) / 1e6; }

}  // namespace

std::size_t class_of(std::int32_t priority) { return priority < 0 ? 0 : priority == 0 ? 1 : 2; }

Events::Events()
    : admissions_(counter(registry_, "subak_admissions_total", "Answers of the webhook.")),
      admission_seconds_(
          histogram(registry_, "subak_admission_seconds", "Time in the webhook's handler.")
              .Add({}, Bounds{1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 0.1})),
      bypasses_(counter(registry_, "subak_bypass_attempts_total",
                        "Attempts to get GPUs without the queue, by way.")),
      pass_seconds_(
          histogram(registry_, "subak_scheduling_pass_seconds", "Duration of a scheduling pass.")
              .Add({}, Bounds{1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1})),
      placements_(counter(registry_, "subak_placements_total",
                          "Jobs that got a placement, by the topology that they asked for.")),
      reservations_expired_(counter(registry_, "subak_reservations_expired_total",
                                    "Attempts that ended because not all pods were bound in time.")
                                .Add({})),
      releases_refused_(
          counter(registry_, "subak_release_refused_total",
                  "Holds that ended without a start, by cause: rejected (the node refused the "
                  "pod), node_lost (the node disappeared before the pod was bound).")),
      rejections_(counter(registry_, "subak_pod_rejections_total",
                          "Pods that the kubelet of their node rejected, by kind of the error.")),
      attempts_ended_(counter(registry_, "subak_attempts_ended_total",
                              "Attempts of jobs that ended, by cause.")),
      preempted_{counter(registry_, "subak_preemptions_total",
                         "Jobs that gave up GPUs for a claim, by the right of the claim."),
                 counter(registry_, "subak_preempted_gpu_seconds_total",
                         "GPU time that preempted jobs had held in the attempt that ended.")
                     .Add({})},
      claims_made_(counter(registry_, "subak_claims_made_total",
                           "Claims that Subak has made for jobs, on GPUs of other jobs.")
                       .Add({})),
      claims_ended_(counter(registry_, "subak_claims_ended_total",
                            "Claims that ended before their job could start, by cause.")),
      claim_seconds_(
          histogram(registry_, "subak_claim_seconds", "Time from a claim until its job started.")
              .Add({}, wait_bounds())),
      overruns_(
          counter(registry_, "subak_time_limit_overruns_total",
                  "Times that a job held GPUs beyond the time at which Subak expected them to be "
                  "free.")
              .Add({})),
      position_moves_(counter(registry_, "subak_job_position_moves_total",
                              "Times that a waiting job near the head of the queue moved back.")
                          .Add({})),
      wait_seconds_(histogram(
          registry_, "subak_job_wait_seconds",
          "Time from the submission of a job until all pods of its gang had a placement.")),
      eta_error_seconds_(
          histogram(registry_, "subak_eta_error_seconds",
                    "Difference between a job's actual start and its first estimate.")
              .Add({}, wait_bounds())),
      commit_seconds_(
          histogram(registry_, "subak_store_commit_seconds", "Duration of a durable commit.")
              .Add({}, Bounds{1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.5, 1})),
      batch_facts_(histogram(registry_, "subak_store_batch_facts", "Facts in one commit.")
                       .Add({}, Bounds{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000})),
      watch_relists_(
          counter(registry_, "subak_watch_relists_total", "Complete lists that edges have begun.")
              .Add({})) {
  // Counters begin at 0: one that begins with its first event hides that from increase().
  for (const std::string_view way : EnumText<Bypass>::names) {
    if (way != enum_name(Bypass::kNone)) bypasses_.Add({{"way", std::string(way)}});
  }
  for (const std::string_view name : EnumText<Topology>::names) {
    placements_.Add({{"topology", std::string(name)}});
  }
  for (const Cause cause : kReleaseCauses) {
    releases_refused_.Add({{"reason", std::string(enum_name(cause))}});
  }
  for (const std::string_view kind : EnumText<RejectionKind>::names) {
    rejections_.Add({{"kind", std::string(kind)}});
  }
  for (const std::string_view cause : EnumText<Cause>::names) {
    if (cause != enum_name(Cause::kNone)) attempts_ended_.Add({{"cause", std::string(cause)}});
  }
  for (const std::string_view cause : EnumText<ClaimCause>::names) {
    if (cause != enum_name(ClaimCause::kMade)) claims_ended_.Add({{"cause", std::string(cause)}});
  }
  for (const std::string_view right : EnumText<ClaimRight>::names) {
    preempted_.jobs.Add({{"reason", std::string(right)}});
  }
  for (const std::string_view name : kClasses) {
    wait_seconds_.Add({{"class", std::string(name)}}, wait_bounds());
  }
}

// Counts a pod that never reached its node.
void Events::refused(Cause cause) {
  if (std::find(kReleaseCauses.begin(), kReleaseCauses.end(), cause) == kReleaseCauses.end())
    return;
  releases_refused_.Add({{"reason", std::string(enum_name(cause))}}).Increment();
}

void Events::told_start(DurationMs error_ms) {
  eta_error_seconds_.Observe(static_cast<double>(error_ms) / kSecondMs);
}

Reservations Events::durable(const Released& batch) {
  Reservations found;
  if (!batch.facts || batch.facts->empty()) return found;
  commit_seconds_.Observe(seconds(batch.commit_us));
  batch_facts_.Observe(static_cast<double>(batch.facts->size()));
  for (const Fact& fact : *batch.facts) {
    if (const auto* started = std::get_if<fact::AttemptStarted>(&fact.body)) {
      found.push_back({started->id, fact.time_ms});
      const auto claim = claims_.find(started->id);
      if (claim == claims_.end()) continue;
      claim_seconds_.Observe(static_cast<double>(fact.time_ms - claim->second) / kSecondMs);
      claims_.erase(claim);
    } else if (const auto* ended = std::get_if<fact::AttemptEnded>(&fact.body)) {
      attempts_ended_.Add({{"cause", std::string(enum_name(ended->cause))}}).Increment();
      if (ended->cause == Cause::kExpired) reservations_expired_.Increment();
      if (ended->cause != Cause::kPreempted) continue;
      found.push_back({ended->id, fact.time_ms, true});
    } else if (const auto* claimed = std::get_if<fact::Claimed>(&fact.body)) {
      note_claim(*claimed);
    } else if (std::holds_alternative<fact::JobOverran>(fact.body)) {
      overruns_.Increment();
    } else if (const auto* lost = std::get_if<fact::PlaceLost>(&fact.body)) {
      refused(lost->cause);
    } else if (const auto* gone = std::get_if<fact::PodGone>(&fact.body)) {
      note_end(*gone);
    }
  }
  return found;
}

void Events::note_end(const fact::PodGone& gone) {
  refused(gone.cause);
  if (gone.cause != Cause::kRejected) return;
  const std::string kind(enum_name(rejection_kind(gone.rejection.error)));
  rejections_.Add({{"kind", kind}}).Increment();
}

void Events::note_claim(const fact::Claimed& claimed) {
  if (claimed.slots.empty()) {
    claims_ended_.Add({{"cause", std::string(enum_name(claimed.cause))}}).Increment();
    claims_.erase(claimed.job);
    return;
  }
  claims_made_.Increment();
  // A claim whose job left the queue has no fact. Such jobs are forgotten here with the oldest.
  if (claims_.size() >= limits::kMaxClaims) claims_.erase(claims_.begin());
  claims_[claimed.job] = claimed.made_ms;
}

void Events::look_up(const Reservations& reservations, const Engine* engine) {
  for (const Reservation& reservation : reservations) {
    const std::optional<JobRow> row =
        engine ? engine->job(reservation.job, false) : std::optional<JobRow>();
    if (reservation.preempted) {
      const bool is_known = row && row->reclaim.preempted;
      const std::string_view reason =
          is_known ? enum_name(row->reclaim.preempted->right) : std::string_view("unknown");
      preempted_.jobs.Add({{"reason", std::string(reason)}}).Increment();
      if (is_known) {
        const Preemption& last = *row->reclaim.preempted;
        preempted_.gpu_seconds.Increment(static_cast<double>(last.milligpu) / 1000 *
                                         static_cast<double>(reservation.at_ms - last.started_ms) /
                                         kSecondMs);
      }
      continue;
    }
    if (!row) {
      placements_.Add({{"topology", "unknown"}}).Increment();
      continue;
    }
    if (row->started_ms != reservation.at_ms) continue;  // a hold that was only extended
    placements_.Add({{"topology", std::string(enum_name(row->request.terms.topology))}})
        .Increment();
    wait_seconds_.Add({{"class", std::string(kClasses[class_of(row->priority)])}}, wait_bounds())
        .Observe(static_cast<double>(row->started_ms - row->submit_ms) / kSecondMs);
  }
}

void Events::input(const Input& input) {
  if (std::holds_alternative<in::ListBegin>(input.body)) watch_relists_.Increment();
  const std::string* cluster = observed_cluster(input.body);
  if (cluster == nullptr) return;
  const MutexLock lock(mutex_);
  last_observed_[*cluster] = input.time_ms;
}

void Events::pass(std::int64_t us) { pass_seconds_.Observe(seconds(us)); }

void Events::admission(std::string_view decision, std::string_view reason, std::int64_t us) {
  admission_seconds_.Observe(seconds(us));
  admissions_.Add({{"decision", std::string(decision)}, {"reason", std::string(reason)}})
      .Increment();
}

void Events::bypass(std::string_view way) {
  bypasses_.Add({{"way", std::string(way)}}).Increment();
}

std::map<std::string, TimeMs> Events::last_observed() const {
  const MutexLock lock(mutex_);
  return last_observed_;
}

std::string Events::text() const {
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

std::string Events::admission_text() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  std::erase_if(families, [](const prometheus::MetricFamily& family) {
    return family.name != "subak_admissions_total" && family.name != "subak_admission_seconds" &&
           family.name != "subak_bypass_attempts_total";
  });
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace subak::metrics
