#include <algorithm>

#include "server/metrics/page.h"

namespace subak::metrics {
namespace {

double gpus(MilliGpu milligpu) { return static_cast<double>(milligpu) / kMilliPerGpu; }

void write_jobs(Exposition& out, const View& view) {
  out.gauge("jobs", "Jobs that have not ended, by state.");
  out.sample({{"state", "queued"}}, view.jobs_queued);
  out.sample({{"state", "held"}}, view.jobs_held);
  out.sample({{"state", "reserved"}}, view.jobs_reserved);
  out.sample({{"state", "running"}}, view.jobs_running);
  out.counter("ledger_rows_total", "Rows of the books.");
  out.sample({}, view.ledger_rows);
}

void write_clusters(Exposition& out, const View& view) {
  if (!view.clusters) return;
  out.gauge("cluster_synced", "1 once the cluster's list of nodes and pods is complete.");
  for (const ClusterView& c : *view.clusters) out.sample({{"cluster", c.name}}, c.synced ? 1 : 0);
  out.gauge("cluster_mode", "1 for the mode that the cluster is in.");
  for (const ClusterView& c : *view.clusters) {
    out.sample({{"cluster", c.name}, {"mode", enum_name(c.mode)}}, 1);
  }
  out.gauge("gpus", "Installed GPUs by what is done with them; the states add up to all of them.");
  for (const ClusterView& c : *view.clusters) {
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
}

void write_runtime(Exposition& out, const RuntimeStats& runtime) {
  out.counter("inputs_total", "Inputs that the loop has applied.");
  out.sample({}, runtime.inputs);
  out.counter("inputs_refused_total", "Inputs refused because the mailbox was full or closed.");
  out.sample({}, runtime.refused);
  out.gauge("mailbox_inputs", "Inputs that wait for the loop.");
  out.sample({}, runtime.mailbox);
  out.counter("facts_total", "Facts made durable since the start.");
  out.sample({}, runtime.facts);
  out.gauge("clock_behind_seconds", "How far the wall clock is behind the time last stamped.");
  out.sample({}, static_cast<double>(runtime.clock_behind_ms) / kSecondMs);
}

void write_follower(Exposition& out, const FollowerStats& follower) {
  out.gauge("follower_lag_facts", "Durable facts that the reading side has not seen yet.");
  out.sample({}, follower.durable_seq - std::min(follower.durable_seq, follower.seq));
  out.counter("checkpoints_total", "Checkpoints written.");
  out.sample({}, follower.checkpoints);
  out.counter("checkpoint_failures_total", "Checkpoints that could not be written.");
  out.sample({}, follower.checkpoint_failures);
  out.counter("digest_mismatches_total", "Times that loop and follower disagreed; must stay 0.");
  out.sample({}, follower.digests_different);
}

}  // namespace

void write_state(Exposition& out, const ShellState& state) {
  if (state.view) {
    write_jobs(out, *state.view);
    write_clusters(out, *state.view);
  }
  write_runtime(out, state.runtime);
  write_follower(out, state.follower);
  out.gauge("leader", "1 if this process may write.");
  out.sample({}, state.runtime.failed ? 0 : 1);
  out.gauge("loop_stalled", "1 while the loop has work and makes no progress.");
  out.sample({}, state.stalled ? 1 : 0);
  if (state.drift_gpu_seconds) {
    out.gauge("ledger_drift_gpu_seconds",
              "Largest difference between a balance and the sum of its rows; must be 0.");
    out.sample({}, *state.drift_gpu_seconds);
  }
  out.gauge("build_info", "1, with the version.");
  out.sample({{"version", state.version}}, 1);
}

}  // namespace subak::metrics
