// One job: why it waits or what it does, what decides its position, and where its pods are.
import { useState } from "react";
import type { Explanation, Job, JobPod, WaitReason } from "subak-api";
import { call } from "../call";
import { useKeyboard } from "../keys";
import { Blockers, Facts, Gpus, JobLink, Name, NodeLink, OwnerLink, Start, State, useNow, View } from "../parts";
import { useRead } from "../read";
import { momentOf, refine } from "../route";
import { Column, Table } from "../table";
import { count, duration, gpus, instant, int, maskText, millis, plural, relative, sentence, shown, time, word } from "../text";
import { JobHistory } from "./history";
import { accountHref, Ranking } from "./ranking";
import { Timeline } from "./timeline";

// Returns the gang in the words of the command line: "4x8 mig-1g.10gb, nvlink".
function shapeOf(job: Job): string {
  const request = job.spec?.request;
  const groups = (request?.groups ?? []).map((group) => {
    const shape = group.shape;
    const size = shape?.kind === "GPU_KIND_FRACTION" ? gpus(shape.fractionMilligpu) : shape?.gpus ?? "0";
    const mig = shape?.kind === "GPU_KIND_MIG" ? ` mig-${shape.migProfile ?? ""}` : "";
    return `${group.count ?? 0}x${size}${mig}${shape?.kind === "GPU_KIND_SHARED" ? " shared" : ""}`;
  });
  const topology = word(request?.topology, "TOPOLOGY_");
  const parts = [groups.join(" + ")];
  if (topology && topology !== "any") parts.push((request?.prefer ? "prefers " : "") + topology);
  if (request?.segment) parts.push(`segments of ${request.segment}`);
  if (request?.balanced) parts.push("balanced");
  return shown(parts.join(", "));
}

function products(job: Job): string {
  const all = (job.spec?.request?.groups ?? []).flatMap((group) => group.shape?.products ?? []);
  return shown([...new Set(all)].join(", "));
}

function Request({ job }: { job: Job }) {
  const spec = job.spec;
  const limit = millis(spec?.timeLimit);
  const distrusted = job.limitDistrusted ? ", not trusted" : "";
  return (
    <Facts
      rows={[
        ["Account", <OwnerLink account={spec?.account} user={spec?.user} />],
        ["Cluster", <Name>{spec?.cluster}</Name>],
        ["Request", shapeOf(job)],
        ["GPUs", gpus(job.milligpu)],
        ["Product", products(job)],
        ["Priority", spec?.priorityClass ? shown(spec.priorityClass) : String(spec?.priority ?? 0)],
        ["Time limit", limit ? duration(limit) + (job.limitEnforced ? ", enforced" : "") + distrusted : "none"],
        ["Attempts", job.attempt ? String(job.attempt) : ""],
        ["Origin", word(job.origin, "JOB_ORIGIN_")],
      ]}
    />
  );
}

// The unit of need and have depends on the subject. GPUs and products have milli-GPU.
function Need({ reason }: { reason: WaitReason }) {
  const need = int(reason.need);
  if (!need || !/^(gpu$|NVIDIA-)/.test(reason.subject ?? "")) return null;
  return (
    <span className="weak">
      needs <Gpus milligpu={need} />, has {gpus(reason.have)}
    </span>
  );
}

// Reasons whose subject is an account.
const OF_ACCOUNTS = new Set(["OnHold", "WaitingForQuota", "ExceedsMaxQuota", "BudgetSpent"]);

function Subject({ reason }: { reason: WaitReason }) {
  const subject = reason.subject ?? "";
  if (!OF_ACCOUNTS.has(reason.token ?? "") || !/^[\w.\/-]+$/.test(subject)) return <Name>{subject}</Name>;
  return <a href={accountHref(subject)}><Name>{subject}</Name></a>;
}

function Reasons({ reasons }: { reasons: WaitReason[] }) {
  return (
    <ol className="reasons">
      {reasons.map((reason, i) => (
        <li key={i}>
          <b>{shown(reason.token)}</b> <Subject reason={reason} /> <Need reason={reason} />
          <p><bdi>{sentence(reason.detail)}</bdi></p>
          <Blockers reason={reason} />
        </li>
      ))}
    </ol>
  );
}

function Position({ answer, now }: { answer: Explanation; now: number }) {
  const position = int(answer.position);
  const patience = instant(answer.patienceUntil);
  const start = answer.expectedStart;
  return (
    <div className="start">
      <p>
        {position ? <><b>{count(position)}</b> in the queue. </> : "It has no position in the queue. "}
        Starts <Start start={start} none={answer.noEstimate} now={now} />
      </p>
      {start?.assumption ? <p className="weak">{sentence(start.assumption)}.</p> : null}
      {start?.movedLater ? <p>The promised start moved later {plural(start.movedLater, "time")}, the last time by “{shown(start.cause)}”.</p> : null}
      {answer.keptNodeCount ? (
        <p>
          {plural(answer.keptNodeCount, "node")} reserved for it:{" "}
          {(answer.keptNodes ?? []).map((name, i) => <span key={name}>{i ? ", " : ""}<NodeLink name={name} /></span>)}
        </p>
      ) : patience !== undefined ? (
        <p className="weak">
          If it does not fit in its turn after {time(patience, now)} ({relative(patience, now)}), Subak may reserve nodes for it.
        </p>
      ) : null}
    </div>
  );
}

// Changes that would start the job sooner. The service tests each with a forecast, on request.
function Alternatives({ id, open }: { id: string; open: boolean }) {
  const [asked, setAsked] = useState(0);
  useKeyboard({ a: () => ask() });
  const ask = () => {
    refine({ alternatives: "yes" });
    setAsked(asked + 1);
  };
  return (
    <section aria-labelledby="alternatives">
      <h2 id="alternatives">What would start it sooner</h2>
      <p>
        <button type="button" onClick={ask}>{open ? "Ask again" : "Find changes"}</button>{" "}
        {open ? null : <span className="weak">Each change is tested with a forecast.</span>}
      </p>
      {open ? <Found id={id} asked={asked} /> : null}
    </section>
  );
}

function Found({ id, asked }: { id: string; asked: number }) {
  const now = useNow();
  const read = useRead(
    `alternatives ${id} ${asked}`,
    (signal) => call("JobService/ExplainJob", { jobId: id, alternatives: true }, signal),
    false,
  );
  const all = read.value?.alternatives ?? [];
  if (read.error) return <p className="problem" role="alert">{shown(read.error.message)}</p>;
  if (!read.value) return <p role="status">Reading …</p>;
  return (
    <div role="status">
      {all.length === 0 ? <p>No change of topology, segments, product or time limit would start it sooner.</p> : null}
      <ul className="alternatives">
        {all.map((change) => (
          <li key={change.change}>
            <Name>{change.change}</Name>: <b>{relative(Math.max(now, instant(change.start) ?? now), now)}</b>{" "}
            <span className="weak">({time(change.start, now)})</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function podColumns(now: number): Column<JobPod>[] {
  return [
    { title: "Rank", width: "4rem", number: true, phone: "left", cell: (pod) => String(pod.rank ?? 0) },
    { title: "State", width: "6rem", phone: "right", cell: (pod) => word(pod.state, "POD_STATE_") },
    { title: "Node", width: "minmax(8rem, 1fr)", phone: "left", cell: (pod) => (pod.node ? <NodeLink name={pod.node} /> : "–") },
    { title: "GPU indexes", width: "7rem", phone: "right", cell: (pod) => maskText(pod.gpuMask) || "–" },
    { title: "GPUs", width: "5rem", number: true, cell: (pod) => gpus(pod.milligpu) },
    { title: "Pod", width: "minmax(8rem, 2fr)", cell: (pod) => <Name>{pod.name}</Name> },
    { title: "Since", width: "9rem", cell: (pod) => time(pod.since, now) },
  ];
}

function Pods({ job, now }: { job: Job; now: number }) {
  const pods = job.pods ?? [];
  return (
    <section aria-labelledby="pods">
      <h2 id="pods">{plural(job.gangSize ?? pods.length, "pod")}</h2>
      {pods.length ? (
        <Table
          label="Pods"
          rows={pods}
          columns={podColumns(now)}
          rowKey={(pod) => String(pod.rank ?? 0)}
          height={34}
          phoneHeight={62}
          most={12}
          empty=""
        />
      ) : <p className="weak">No pod has a node yet.</p>}
    </section>
  );
}

// What else happened to the job: preemption, loan, rejection, refused eviction, ComputeDomain.
function More({ job, now }: { job: Job; now: number }) {
  const { preemption, loan, rejection, computeDomainState: domain } = job;
  return (
    <Facts
      rows={[
        ["Preempted", preemption ? (
          <>
            {plural(preemption.times ?? 1, "time")}, last {time(preemption.asked, now)} for{" "}
            {preemption.claimant ? <JobLink id={preemption.claimant} /> : "a job that is gone"} of{" "}
            <OwnerLink account={preemption.claimantAccount} />
          </>
        ) : undefined],
        ["Beyond quota", loan ? (
          <>
            <Gpus milligpu={loan.milligpu} />
            {loan.preemptibleFrom ? `, preemptible from ${time(loan.preemptibleFrom, now)}` : ", never preempted"}
          </>
        ) : undefined],
        ["Rejected by", rejection ? (
          <><NodeLink name={rejection.node ?? ""} />: <Name>{rejection.error}</Name>. <Name>{rejection.explanation}</Name></>
        ) : undefined],
        ["Eviction refused", job.endRefused ? time(job.endRefused, now) : undefined],
        ["Idle since", job.idleSince ? time(job.idleSince, now) : undefined],
        ["Overran its planned end", job.overruns ? plural(job.overruns, "time") : undefined],
        ["ComputeDomain", domain ? `${shown(domain.name)}: ${shown(domain.state)}, ${domain.readyNodes ?? 0} of ${plural(domain.nodes ?? 0, "node")} ready` : undefined],
      ]}
    />
  );
}

function Waiting({ answer, open, now }: { answer: Explanation; open: boolean; now: number }) {
  const reasons = answer.reasons ?? [];
  return (
    <>
      <section aria-labelledby="why">
        <h2 id="why">Why it waits</h2>
        <Position answer={answer} now={now} />
        <Reasons reasons={reasons} />
      </section>
      {reasons.length && !momentOf() ? <Alternatives id={answer.job?.id ?? ""} open={open} /> : null}
      <Ranking steps={answer.ranking ?? []} />
    </>
  );
}

export function JobView({ id, query }: { id: string; query: URLSearchParams }) {
  const read = useRead(`job ${id}`, (signal) => call("JobService/ExplainJob", { jobId: id }, signal));
  const now = useNow(read);
  const answer = read.value;
  const job = answer?.job;
  const waits = /QUEUED|PAUSED|INCOMPLETE/.test(job?.state ?? "");
  const open = query.get("alternatives") !== null && !momentOf();
  const { moment: ms, sequence } = read;
  const moment = ms === undefined || sequence === undefined ? undefined : { ms, sequence };
  const command = waits ? `subak why ${id}${open ? " --alternatives" : ""}` : `subak job get ${id}`;
  const title = (
    <>
      Job {shown(id)} <span className="weak"><Name>{job?.spec?.name}</Name></span> {job ? <State job={job} /> : null}
    </>
  );
  return (
    <View title={title} name={`Job ${id}`} read={read} at={answer?.time} command={command}>
      {answer && job ? (
        <div className="columns">
          <div>
            {waits ? <Waiting answer={answer} open={open} now={now} /> : null}
            <Pods job={job} now={now} />
            <JobHistory id={id} state={`${job.state} ${job.attempt ?? 0}`} now={now} moment={moment} />
          </div>
          <div>
            <h2>Timeline</h2>
            <Timeline answer={answer} now={now} />
            <h2>Request</h2>
            <Request job={job} />
            <More job={job} now={now} />
          </div>
        </div>
      ) : null}
    </View>
  );
}
