#include <algorithm>

#include "server/metrics/page.h"

namespace subak::metrics {
namespace {

double gpus(MilliGpu milligpu) { return static_cast<double>(milligpu) / kMilliPerGpu; }
double seconds(TimeMs ms) { return static_cast<double>(ms) / kSecondMs; }

// The database has another fact under this number.
std::uint64_t missing_facts(std::uint64_t known, std::uint64_t last) {
  return known > last ? known - last : 1;
}

void write_jobs(Families& out, const View& view) {
  out.gauge("subak_jobs", "Jobs that have not ended, by state.");
  for (std::size_t state = 0; state < view.jobs.size(); ++state) {
    const auto name = static_cast<JobState>(state);
    if (name != JobState::kDone) out.sample({{"state", enum_name(name)}}, view.jobs[state]);
  }
  out.gauge("subak_pods_beyond_gang_size", "Gated pods beyond the size of their gang.");
  out.sample({}, view.pods_beyond_gang);
  out.counter("subak_ledger_rows_total", "Rows of the ledger.");
  out.sample({}, view.ledger_rows);
}

void write_gpus(Families& out, const std::vector<ClusterView>& clusters) {
  out.gauge("subak_gpus",
            "GPUs by state. The states together are the installed GPUs plus the "
            "overcommitted ones.");
  for (const ClusterView& c : clusters) {
    for (const ProductTotals& p : c.products) {
      const auto row = [&](std::string_view state, MilliGpu amount) {
        out.sample({{"cluster", c.name}, {"product", p.product}, {"state", state}}, gpus(amount));
      };
      row("allocated", p.milligpu.allocated);
      row("idle", p.milligpu.idle);
      row("stranded", p.milligpu.stranded);
      row("unusable", p.milligpu.unusable);
    }
  }
  out.gauge("subak_overcommitted_gpus",
            "GPUs held beyond what their nodes have, because a node shrank or was "
            "overbooked. The state allocated includes them.");
  for (const ClusterView& c : clusters) {
    for (const ProductTotals& p : c.products) {
      out.sample({{"cluster", c.name}, {"product", p.product}}, gpus(p.milligpu.overcommitted));
    }
  }
}

// Returns the value under a cluster's name, or under the empty name if it is the only one.
template <class Value>
Value under(const std::map<std::string, Value>& by_name, const std::string& name, bool only,
            Value otherwise) {
  auto at = by_name.find(name);
  Value out = at == by_name.end() ? otherwise : at->second;
  at = by_name.find("");
  return only && at != by_name.end() ? std::max(out, at->second) : out;
}

// An imported fleet has no edge that reports its nodes.
void write_edges(Families& out, const ShellState& state, const std::vector<ClusterView>& clusters) {
  const bool only = clusters.size() == 1;
  out.gauge("subak_cluster_observers", "Edges that report the cluster now.");
  for (const ClusterView& c : clusters) {
    if (c.owned) continue;
    out.sample({{"cluster", c.name}}, under(state.observers, c.name, only, std::size_t{0}));
  }
  out.gauge("subak_cluster_observation_age_seconds",
            "Time since the cluster's edge last reported anything; without a report, since "
            "the start.");
  for (const ClusterView& c : clusters) {
    if (c.owned) continue;
    const TimeMs last = under(state.last_observed, c.name, only, state.now_ms - state.uptime_ms);
    out.sample({{"cluster", c.name}}, seconds(std::max<TimeMs>(0, state.now_ms - last)));
  }
  out.counter("subak_stale_events_total",
              "Events refused because another edge follows their cluster now.");
  out.sample({}, state.stale_events);
}

// Writes the clusters that this service follows itself.
void write_own_edges(Families& out, const std::vector<EdgeState>& edges) {
  if (edges.empty()) return;
  const auto rows = [&](auto value) {
    for (const EdgeState& e : edges) out.sample({{"cluster", e.cluster}}, value(e));
  };
  out.gauge("subak_edge_follows", "1 while the edge's watches are alive and its list is complete.");
  rows([](const EdgeState& e) { return e.follows; });
  out.counter("subak_edge_lists_total", "Lists that the edge has begun, of all kinds of objects.");
  rows([](const EdgeState& e) { return e.lists; });
  out.counter("subak_edge_writes_total",
              "Writes of the edge that the API server has accepted, by kind.");
  for (const EdgeState& e : edges) {
    for (const auto& [kind, count] : e.writes) {
      out.sample({{"cluster", e.cluster}, {"write", kind}}, count);
    }
  }
  out.counter("subak_edge_releases_given_up_total",
              "Writes of the edge that the API server refused for good, by its reason.");
  for (const EdgeState& e : edges) {
    for (const auto& [reason, count] : e.refused) {
      out.sample({{"cluster", e.cluster}, {"reason", reason}}, count);
    }
  }
  out.counter("subak_edge_opened_outside_total",
              "Gates of Subak that the edge has opened in namespaces that Subak does not "
              "manage.");
  rows([](const EdgeState& e) { return e.opened_outside; });
  out.counter("subak_edge_events_total", "Events that the edge has sent for people to read.");
  rows([](const EdgeState& e) { return e.events; });
  out.counter("subak_edge_unreadable_total", "Objects that the edge could not read.");
  rows([](const EdgeState& e) { return e.unreadable; });
  out.counter("subak_edge_not_taken_total", "Updates of the edge that the core refused.");
  rows([](const EdgeState& e) { return e.not_taken; });
  out.gauge("subak_edge_pods_put_off",
            "Gated pods of which Subak makes no job yet, because too many pods wait.");
  rows([](const EdgeState& e) { return e.put_off; });
  out.gauge("subak_compute_domains", "ComputeDomains that Subak made and that exist.");
  rows([](const EdgeState& e) { return e.domains; });
  out.gauge("subak_compute_domain_nodes_not_ready",
            "Nodes of ComputeDomains that have not been ready for five minutes.");
  rows([](const EdgeState& e) { return e.late_domain_nodes; });
  out.gauge("subak_edge_clock_offset_seconds",
            "Clock offset of the node whose clock is most wrong. Positive: the clock is "
            "behind.");
  rows([](const EdgeState& e) { return seconds(e.clock_behind_ms); });
}

void write_clusters(Families& out, const ShellState& state) {
  if (!state.view->clusters) return;
  const std::vector<ClusterView>& clusters = *state.view->clusters;
  out.gauge("subak_cluster_synced", "1 once the cluster's list of nodes and pods is complete.");
  for (const ClusterView& c : clusters) out.sample({{"cluster", c.name}}, c.synced);
  out.gauge("subak_cluster_mode", "1 for the mode that the cluster has.");
  for (const ClusterView& c : clusters) {
    out.sample({{"cluster", c.name}, {"mode", enum_name(c.mode)}}, 1);
  }
  write_gpus(out, clusters);
  write_edges(out, state, clusters);
  write_own_edges(out, state.edges);
}

void write_runtime(Families& out, const RuntimeStats& runtime) {
  out.counter("subak_inputs_total", "Inputs that the loop has applied.");
  out.sample({}, runtime.inputs);
  out.counter("subak_inputs_refused_total",
              "Inputs refused because the mailbox was full or closed.");
  out.sample({}, runtime.refused);
  out.gauge("subak_mailbox_inputs", "Inputs that wait in the mailbox for the loop.");
  out.sample({}, runtime.mailbox);
  out.counter("subak_facts_total", "Facts made durable since the start.");
  out.sample({}, runtime.facts);
  out.gauge("subak_clock_offset_seconds", "The wall clock's time minus the service's own.");
  out.sample({}, seconds(runtime.clock.offset_ms));
  out.gauge("subak_clock_believed",
            "0 while Subak does not trust the wall clock and its time continues without it, "
            "else 1.");
  out.sample({}, runtime.clock.state == ClockState::kBelieved);
  out.counter("subak_clock_steps_refused_total",
              "Times that Subak stopped trusting the wall clock.");
  out.sample({}, runtime.clock.steps_refused);
}

void write_follower(Families& out, const FollowerStats& follower) {
  out.gauge("subak_follower_lag_facts",
            "Durable facts that the follower, which serves reads, has not seen yet.");
  out.sample({}, follower.durable_seq - std::min(follower.durable_seq, follower.seq));
  out.gauge("subak_follower_failed",
            "1 if the follower, which serves reads, could not read the store.");
  out.sample({}, follower.failed);
  out.counter("subak_checkpoints_total", "Checkpoints written.");
  out.sample({}, follower.checkpoints);
  out.counter("subak_checkpoint_failures_total", "Checkpoints that could not be written.");
  out.sample({}, follower.checkpoint_failures);
  out.gauge("subak_past_checkpoints",
            "Past checkpoints of the store, from which reads of the past start.");
  out.sample({}, follower.past.count);
  out.gauge("subak_past_checkpoints_bytes", "Size of all past checkpoints.");
  out.sample({}, follower.past.bytes);
  out.counter("subak_past_checkpoint_failures_total",
              "Past checkpoints that could not be written. Only reads of the past become slower.");
  out.sample({}, follower.past.failures);
  out.counter("subak_digest_mismatches_total",
              "Times that the states of loop and follower differed. Must stay 0.");
  out.sample({}, follower.digests_different);
}

void write_listeners(Families& out, const std::vector<ListenerState>& listeners) {
  if (listeners.empty()) return;
  const auto rows = [&](auto value) {
    for (const ListenerState& l : listeners) out.sample({{"listener", l.name}}, value(l));
  };
  out.gauge("subak_listener_serves", "1 while the listener answers the service's own tests.");
  rows([](const ListenerState& l) { return l.serves; });
  out.gauge("subak_connections", "Connections that are open now.");
  rows([](const ListenerState& l) { return l.open; });
  out.gauge("subak_connections_limit", "The most connections that may be open at once.");
  rows([](const ListenerState& l) { return l.limit; });
  out.counter("subak_connections_refused_total",
              "Connections that the listener closed at once: too many were open, in all or of "
              "this address.");
  rows([](const ListenerState& l) { return l.refused; });
  out.counter("subak_connections_evicted_total",
              "Idle connections that the listener closed to make room for new ones.");
  rows([](const ListenerState& l) { return l.evicted; });
}

// Writes the metrics of a shared store, which has an epoch.
void write_lead(Families& out, const ShellState& state) {
  out.gauge("subak_leader", "1 if this process may write.");
  out.sample({}, state.view && state.runtime.leads && !state.runtime.failed);
  if (state.lead.epoch == 0) return;
  out.gauge("subak_leader_epoch",
            "How often a process became the leader, as this process last saw it.");
  out.sample({}, state.lead.epoch);
  out.gauge("subak_standby_lag_seconds",
            "Time since this replica last had all facts of the store. 0 while it leads.");
  out.sample({}, seconds(state.runtime.behind_ms));
  out.gauge("subak_store_waiting_seconds",
            "How long the current commit has waited for the database.");
  out.sample({}, seconds(state.commit_waits_ms));
  out.gauge("subak_known_facts_missing",
            "Facts that this replica knows and the database lacks. Above 0, this replica "
            "does not lead.");
  out.sample({}, state.known_seq == 0 ? 0 : missing_facts(state.known_seq, state.view->seq));
  out.gauge("subak_configuration_differences",
            "Settings of the policy whose value in force differs from this replica's "
            "configuration.");
  out.sample({}, state.config_differences);
  if (!state.database_clock) return;
  out.gauge("subak_database_clock_offset_seconds",
            "The database's clock minus this machine's wall clock.");
  out.sample({}, seconds(state.database_clock->offset_ms));
  out.counter("subak_database_clock_steps_total",
              "Times that the database's clock moved by more than a second against this machine's "
              "boot-time clock.");
  out.sample({}, state.database_clock->steps);
}

void write_static(Families& out, bool known, DurationMs age_ms) {
  out.gauge("subak_static_age_seconds",
            "At a replica: time since the last data of the leader, 0 while connected. At a "
            "start without the database: age of the last copy.");
  out.sample({}, seconds(age_ms));
  out.gauge("subak_static_known",
            "1 once there is a copy of the data with which the leader's webhook decides. "
            "Until then, GPU pods are gated.");
  out.sample({}, known);
}

// Writes the metrics of every process: listeners, a certificate, itself.
void write_process(Families& out, const ShellState& state) {
  write_listeners(out, state.listeners);
  if (state.certificate_end_ms) {
    out.gauge("subak_certificate_not_after_seconds",
              "End of the webhook's certificate, in Unix time.");
    out.sample({}, seconds(*state.certificate_end_ms));
    out.gauge("subak_certificate_change_seconds",
              "When the webhook's certificate changes to the next CA, in Unix time. 0: there "
              "is no next CA.");
    out.sample({}, seconds(state.certificate_change_ms));
  }
  out.counter("process_cpu_seconds_total", "Processor time of the process.");
  out.sample({}, state.process.cpu_seconds);
  out.gauge("process_resident_memory_bytes", "Memory that the process has in use.");
  out.sample({}, state.process.resident_bytes);
  out.gauge("process_start_time_seconds", "Start of the service, in Unix time.");
  out.sample({}, seconds(state.start_ms));
  out.gauge("subak_build_info", "Always 1. The label has the version.");
  out.sample({{"version", state.version}}, 1);
}

}  // namespace

std::string missing_text(std::uint64_t known, std::uint64_t last) {
  return "this replica knows facts up to " + std::to_string(known) +
         ", and the database, which ends with " + std::to_string(last) + ", lacks " +
         std::to_string(missing_facts(known, last)) +
         " of them: reads are served, and it does not lead (subak admin accept-loss)";
}

void write_notices(Families& out, const std::vector<NoticeState>& receivers) {
  if (receivers.empty()) return;
  const auto rows = [&](auto value) {
    for (const NoticeState& one : receivers) out.sample({{"receiver", one.receiver}}, value(one));
  };
  out.counter("subak_notices_sent_total", "Notices that the receiver has taken.");
  rows([](const NoticeState& one) { return one.sent; });
  out.counter("subak_notices_lost_total", "Notices that the receiver will not get.");
  rows([](const NoticeState& one) { return one.lost; });
  out.counter("subak_notice_failures_total", "Requests to the receiver that failed.");
  rows([](const NoticeState& one) { return one.failed; });
  out.gauge("subak_notices_waiting", "Notices that wait for the receiver.");
  rows([](const NoticeState& one) { return one.waiting; });
}

void write_state(Families& out, const ShellState& state) {
  if (state.view) {
    write_jobs(out, *state.view);
    write_clusters(out, state);
  }
  if (state.start) write_static(out, state.start->has_copy, state.start->age_ms);
  write_runtime(out, state.runtime);
  write_follower(out, state.follower);
  write_lead(out, state);
  out.gauge("subak_loop_stalled", "1 while the loop has work but makes no progress.");
  out.sample({}, state.stalled);
  if (state.drift_gpu_seconds) {
    out.gauge("subak_ledger_drift_gpu_seconds",
              "Largest difference between a balance and the sum of its ledger rows. Must be "
              "0.");
    out.sample({}, *state.drift_gpu_seconds);
  }
  out.gauge("subak_store_bytes", "Size of the state file and its log.");
  out.sample({}, state.store_bytes);
  write_process(out, state);
}

void write_replica(Families& out, const ReplicaState& state) {
  write_static(out, state.has_copy, state.age_ms);
  out.counter("subak_static_copies_total",
              "Copies of the leader's data that a replica has accepted.");
  out.sample({}, state.copies);
  out.counter("subak_static_refused_total",
              "Copies of the leader's data that a replica has refused because a field was "
              "wrong.");
  out.sample({}, state.refused);
  write_process(out, state.shell);
}

}  // namespace subak::metrics
