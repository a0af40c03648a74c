// The overview: clusters, their use, the queue, warnings, who leads, and how old the picture is.
import type { Cluster, QueueRow, ShareRow, Status } from "subak-api";
import { call } from "../call";
import { Bar, Facts, JobLink, Name, OwnerLink, Start, useLink, useNow, View } from "../parts";
import { useRead } from "../read";
import { href } from "../route";
import {
  count, duration, gpus, hoursText, instant, int, millis, percent, plural, real, relative, shown, word,
} from "../text";

const FIRST = 8; // rows of the queue
const MOST_ACCOUNTS = 20; // those that hold the most

interface Picture {
  status: Status;
  queue: QueueRow[];
  shares: ShareRow[];
  time?: string;
}

async function load(signal: AbortSignal) {
  const [status, queue, shares] = await Promise.all([
    call("AdminService/GetStatus", {}, signal),
    call("JobService/ListQueue", { pageSize: FIRST }, signal),
    call("AccountService/ListShares", { accountsOnly: true, pageSize: 1000 }, signal),
  ]);
  const value: Picture = {
    status: status.value,
    queue: queue.value.rows ?? [],
    shares: shares.value.rows ?? [],
    time: queue.value.time,
  };
  return { value, sequence: status.sequence, moment: status.moment };
}

function Use({ cluster }: { cluster: Cluster }) {
  return (
    <section className="card" aria-label={`Cluster ${shown(cluster.name)}`}>
      <h3>
        <a href={href(["fleet"], { cluster: cluster.name })}><Name>{cluster.name}</Name></a>{" "}
        <span className="tag">{word(cluster.mode, "MODE_")}</span>{" "}
        {cluster.synced ? null : <span className="tag warn">list of nodes not complete</span>}
      </h3>
      {(cluster.products ?? []).map((product) => {
        const installed = int(product.installedMilligpu);
        const used = int(product.allocatedMilligpu);
        const closed = int(product.unusableMilligpu) + int(product.strandedMilligpu);
        return (
          <div className="use" key={product.product}>
            <span><Name>{product.product}</Name></span>
            <Bar
              whole={installed}
              parts={[{ className: "runs", value: used }, { className: "closed", value: closed }]}
            />
            <span className="figures">
              {gpus(used)} of {gpus(installed)} GPUs in use, {gpus(product.idleMilligpu)} idle
              {closed ? `, ${gpus(closed)} not usable` : ""} · {plural(int(product.nodes), "node")}
            </span>
          </div>
        );
      })}
      {cluster.products?.length ? null : <p className="weak">No GPU nodes are known.</p>}
    </section>
  );
}

function Warnings({ status }: { status: Status }) {
  const warnings = [...(status.warnings ?? [])];
  if (status.state !== "serving") warnings.unshift(`The service does not serve all calls: ${status.state ?? ""}.`);
  if (!status.clockBelieved) warnings.push("The wall clock has jumped, and the service does not follow it.");
  const residual = int(status.billResidual?.gpuSeconds) || int(status.billResidual?.restMilligpuMs);
  if (residual) warnings.push("The ledger does not charge all GPU time that nodes had allocated.");
  if (!warnings.length) return <p className="good">No warnings.</p>;
  return (
    <ul className="warnings">
      {warnings.map((warning) => (
        <li key={warning}>{shown(warning)}</li>
      ))}
    </ul>
  );
}

function Service({ status, now }: { status: Status; now: number }) {
  const isLost = useLink().lostAt !== undefined;
  const started = instant(status.startTime);
  const leader = status.leaderName || (status.leader ? "this process" : "none");
  return (
    <Facts
      rows={[
        ["State", status.state],
        ["Leader", <Name>{leader}</Name>],
        ["Age of the figures", isLost ? "not known" : status.leader ? "current" : duration(millis(status.pictureAge))],
        ["Up since", started === undefined ? "" : relative(started, now)],
        ["Last pass", duration(millis(status.lastPass))],
        ["Last commit", duration(millis(status.lastCommit))],
        ["Order", `${status.order ?? ""}, half-life ${duration(millis(status.halfLife))}`],
        ["Ledger", plural(int(status.ledgerRows), "row")],
        ["Version", status.version],
      ]}
    />
  );
}

function Jobs({ status }: { status: Status }) {
  const figures: [string, string | undefined][] = [
    ["running", status.jobsRunning],
    ["starting", status.jobsStarting],
    ["queued", status.jobsQueued],
    ["ending", status.jobsEnding],
    ["paused", status.jobsPaused],
    ["incomplete", status.jobsIncomplete],
  ];
  return (
    <ul className="tiles" aria-label="Jobs by state">
      {figures.map(([name, value]) => (
        <li key={name} className={int(value) ? "" : "weak"}>
          <b>{count(int(value))}</b> {name}
        </li>
      ))}
    </ul>
  );
}

function Next({ rows, now }: { rows: QueueRow[]; now: number }) {
  if (!rows.length) return <p className="weak">Nothing waits.</p>;
  return (
    <ol className="next">
      {rows.map((row) => (
        <li key={row.job?.id}>
          <span className="who">
            <JobLink id={row.job?.id} name={row.job?.spec?.name} />
            <small><OwnerLink account={row.job?.spec?.account} user={row.job?.spec?.user} /> · {shown(row.shape)}</small>
          </span>
          <span className="when"><Start start={row.expectedStart} none={row.noEstimate} now={now} /></span>
        </li>
      ))}
    </ol>
  );
}

function Shares({ rows }: { rows: ShareRow[] }) {
  const first = rows.filter((row) => row.account && !row.account.includes("."));
  const held = (row: ShareRow) => int(row.runningMilligpu) + int(row.heldMilligpu);
  const all = first.reduce((sum, row) => sum + held(row), 0);
  const most = [...first].sort((a, b) => held(b) - held(a)).slice(0, MOST_ACCOUNTS);
  return (
    <ul className="shares">
      {most.map((row) => (
        <li key={row.account}>
          <OwnerLink account={row.account} />
          <Bar whole={1} parts={[{ className: "runs", value: all ? held(row) / all : 0 }]} />
          <span className="figures">
            holds {gpus(held(row))} GPUs ({percent(all ? held(row) / all : 0)}), share {percent(real(row.normShares))},
            recent use {percent(real(row.effectiveUsage))} ({hoursText(real(row.rawUsageGpuSeconds) / 3600)}),{" "}
            {plural(int(row.queuedJobs), "job")} waiting
          </span>
        </li>
      ))}
      {first.length > most.length ? <li><a href={href(["teams"])}>{first.length - most.length} more accounts</a></li> : null}
    </ul>
  );
}

export function Overview() {
  const read = useRead("overview", load);
  const now = useNow(read);
  const picture = read.value;
  return (
    <View title="Overview" name="Overview" read={read} at={picture?.time} command="subak status">
      {picture ? (
        <div className="columns">
          <div>
            <Jobs status={picture.status} />
            <h2>Clusters</h2>
            {(picture.status.clusters ?? []).map((cluster) => <Use key={cluster.name} cluster={cluster} />)}
            <h2>Accounts</h2>
            <Shares rows={picture.shares} />
          </div>
          <div>
            {read.moment === undefined ? <><h2>Warnings</h2><Warnings status={picture.status} /></> : null}
            <h2><a href={href(["queue"])}>Next in the queue</a></h2>
            <Next rows={picture.queue} now={now} />
            <h2>Service</h2>
            {read.moment === undefined ? (
              <Service status={picture.status} now={now} />
            ) : (
              <p className="weak">No fact describes the processes of that time, so they are not shown.</p>
            )}
          </div>
        </div>
      ) : null}
    </View>
  );
}
