// One account or user: shares, quota, limits, budgets, usage by day, and its jobs.
import type { Account, BudgetRow, Job, ListSharesResponse, ShareRow } from "subak-api";
import { Answer, call, CallError } from "../call";
import { Curve } from "../curve";
import { Bar, Facts, JobLink, Name, OwnerLink, State, useNow, View } from "../parts";
import { useRead } from "../read";
import { href, momentOf } from "../route";
import { Column, Table } from "../table";
import {
  count, duration, factor, gpus, hours, hoursText, instant, int, isoText, month, owner, percent, plural, real, shown, time,
} from "../text";
import { ShareHistory } from "./share_history";

const DAYS = 90;
const DAY_MS = 86_400_000;

interface Picture {
  account?: Account;
  shares: ListSharesResponse;
  budgets: BudgetRow[];
  // The GPU-hours of each UTC day: [the day's begin in ms, the hours].
  days: [number, number][];
  jobs: Job[];
  moreJobs: boolean;
}

// The root and users without settings of their own have no account to get.
async function accountOf(path: string, signal: AbortSignal): Promise<Account | undefined> {
  try {
    return (await call("AccountService/GetAccount", { path }, signal)).value;
  } catch (error) {
    if (error instanceof CallError && error.code === "not_found") return undefined;
    throw error;
  }
}

// Returns the GPU-hours of each UTC day of the last DAYS days before `end` (ms since 1970). Days before the first
// usage are left out. `isPast`: `end` is an earlier moment.
async function usageByDay(account: string, user: string, end: number, isPast: boolean, signal: AbortSignal) {
  const from = new Date(Math.floor(end / DAY_MS - DAYS) * DAY_MS).toISOString();
  const days = new Map<number, number>();
  const add = (at: number | undefined, used: number) => {
    if (at !== undefined && used > 0) days.set(at, (days.get(at) ?? 0) + used);
  };
  if (isPast) {
    const request = { account: owner(account, user), from, to: isoText(end), step: "86400s" };
    const { steps } = (await call("UsageService/GetUsageHistory", request, signal, "")).value;
    for (const step of steps ?? []) add(instant(step.from), hours(step.used) + hours(step.held));
  } else {
    const request = { account, from, byDay: true, byUser: user !== "" };
    const { rows } = (await call("UsageService/ReportUsage", request, signal)).value;
    for (const row of rows ?? []) if (!user || row.user === user) add(instant(row.day), hours(row.amount) + hours(row.running));
  }
  const known = [...days.keys()].sort((a, b) => a - b);
  // A day without usage has no row.
  const all: [number, number][] = [];
  for (let at = known[0]; at <= known[known.length - 1]; at += DAY_MS) all.push([at, days.get(at) ?? 0]);
  return all;
}

async function load(account: string, user: string, signal: AbortSignal) {
  const path = owner(account, user);
  const usage = async (asked: Promise<Answer<ListSharesResponse>>) => {
    if (!momentOf()) return usageByDay(account, user, Date.now(), false, signal);
    const end = instant((await asked).value.time);
    return end === undefined ? [] : usageByDay(account, user, end, true, signal);
  };
  const asked = call("AccountService/ListShares", { account, pageSize: 1000 }, signal);
  const [shares, own, budgets, days, jobs] = await Promise.all([
    asked,
    account ? accountOf(path, signal) : undefined,
    call("AccountService/ListBudgets", { account, pageSize: 200 }, signal),
    usage(asked),
    call("JobService/ListJobs", { account, user, pageSize: 1000 }, signal),
  ]);
  const value: Picture = {
    account: own,
    shares: shares.value,
    budgets: (budgets.value.rows ?? []).filter((row) => !user || row.account === path),
    days,
    jobs: jobs.value.jobs ?? [],
    moreJobs: Boolean(jobs.value.nextPageToken),
  };
  return { value, sequence: shares.sequence, moment: shares.moment };
}

const amounts = (list: { product?: string; milligpu?: string }[] | undefined) =>
  (list ?? []).map((amount) => `${gpus(amount.milligpu)} ${amount.product === "gpu" ? "GPUs" : shown(amount.product)}`).join(", ");

function Settings({ account, row }: { account?: Account; row?: ShareRow }) {
  const parent = row?.rawShares;
  return (
    <Facts
      rows={[
        ["Shares", parent ? `${parent} (${percent(real(row?.normShares))} among siblings)` : ""],
        ["Quota", amounts(account?.quota) || "none"],
        ["Limit", amounts(account?.limit) || "none"],
        ["May borrow", account?.borrowMilligpu === undefined ? "" : `${gpus(account.borrowMilligpu)} GPUs`],
        ["Lends at most", account?.lendMilligpu === undefined ? "" : `${gpus(account.lendMilligpu)} GPUs`],
        ["Limits on jobs", shown(account?.jobLimits)],
        ["Limits of each user", shown(account?.userLimits)],
        ["Namespaces", shown((account?.namespaces ?? []).join(", "))],
        ["Held", account?.held ? "yes: its jobs do not start" : ""],
        ["Draining", account?.draining ? "yes: it accepts no new jobs" : ""],
        ["Revision", account?.revision],
      ]}
    />
  );
}

function Now({ row }: { row: ShareRow }) {
  const parts: [string, string, string][] = [
    ["running", "runs", row.runningMilligpu ?? "0"],
    ["reserved", "idle", row.heldMilligpu ?? "0"],
  ];
  const all = Math.max(1, int(row.quotaMilligpu), int(row.runningMilligpu) + int(row.heldMilligpu));
  return (
    <>
      <ul className="tiles" aria-label="Now">
        <li><b>{gpus(row.runningMilligpu)}</b> GPUs running</li>
        <li><b>{gpus(row.heldMilligpu)}</b> GPUs reserved</li>
        <li><b>{gpus(row.queuedMilligpu)}</b> GPUs waiting in {plural(int(row.queuedJobs), "job")}</li>
        <li><b>{gpus(row.quotaMilligpu)}</b> GPUs quota</li>
      </ul>
      <Bar whole={all} parts={parts.map(([, className, value]) => ({ className, value: int(value) }))} />
      <Facts
        rows={[
          ["Share among siblings", percent(real(row.normShares))],
          ["Recent use among siblings", percent(real(row.effectiveUsage))],
          ["Share ÷ use", `${factor(row.levelFs)} (above 1: it is owed time)`],
          ["Recent use, decayed", hoursText(real(row.rawUsageGpuSeconds) / 3600)],
          ["Above quota, decayed", hoursText(real(row.surplusGpuSeconds) / 3600)],
          ["Used in all", hoursText(hours(row.usageTotal))],
          ["Borrows", `${gpus(row.borrowedMilligpu)} GPUs`],
          ["Lends", `${gpus(row.lentMilligpu)} GPUs`],
        ]}
      />
    </>
  );
}

function Usage({ days, quota }: { days: [number, number][]; quota: number }) {
  if (!days.length) return <p className="weak">No usage in the last {DAYS} days.</p>;
  const daily = (quota / 1000) * 24;
  const points = days.map(([at, used]) => (quota ? [at, used, daily] : [at, used]));
  return (
    <Curve
      label={`GPU-hours of each UTC day, the last ${DAYS} days`}
      points={points}
      series={quota ? ["used", "quota"] : ["used"]}
      unit="GPU-hours"
    />
  );
}

function Budgets({ rows, now }: { rows: BudgetRow[]; now: number }) {
  if (!rows.length) return null;
  return (
    <>
      <h2>Budgets</h2>
      {rows.map((row) => (
        <div className="use" key={`${row.account ?? ""} ${row.budget ?? ""}`}>
          <span><Name>{row.account}</Name>: <Name>{row.budget}</Name>{row.soft ? " (soft)" : ""}</span>
          <Bar
            whole={hours(row.granted)}
            parts={[{ className: "runs", value: hours(row.spent) }, { className: "idle", value: hours(row.held) }]}
          />
          <span className="figures">
            {hoursText(hours(row.spent))} spent, {hoursText(hours(row.held))} held, {hoursText(hours(row.left))} left of{" "}
            {hoursText(hours(row.granted))}{row.to ? `, until ${time(row.to, now)}` : ""}
            {row.projectedEnd ? `; spent by ${time(row.projectedEnd, now)} at this rate` : ""}
          </span>
        </div>
      ))}
    </>
  );
}

function jobColumns(now: number): Column<Job>[] {
  return [
    {
      title: "Job", width: "minmax(8rem, 1.3fr)", phone: "left",
      cell: (job) => <JobLink id={job.id} name={job.spec?.name} />,
    },
    { title: "State", width: "6rem", phone: "right", cell: (job) => <State job={job} /> },
    {
      title: "Owner", width: "minmax(8rem, 1fr)", phone: "left",
      cell: (job) => <OwnerLink account={job.spec?.account} user={job.spec?.user} />,
    },
    { title: "GPUs", width: "4.5rem", number: true, phone: "right", cell: (job) => gpus(job.milligpu) },
    {
      title: "Since", width: "7rem",
      cell: (job) => duration(now - (instant(job.startTime ?? job.submitTime) ?? now)),
    },
    {
      title: "Waits for, runs on", width: "minmax(8rem, 1.4fr)", phone: "full",
      cell: (job) =>
        job.nodes?.length ? (
          <><Name>{job.nodes.slice(0, 3).join(", ")}</Name>{(job.nodeCount ?? 0) > 3 ? ` and ${(job.nodeCount ?? 0) - 3} more` : ""}</>
        ) : (
          <span title={shown(job.waitsForDetail)}>{shown(job.waitsFor) || "–"}</span>
        ),
    },
  ];
}

function Members({ rows, account }: { rows: ShareRow[]; account: string }) {
  const below = rows.filter((row) => row.user ? row.account === account : parentOf(row.account ?? "") === account && row.account);
  if (!below.length) return null;
  const whole = Math.max(...below.map((row) => int(row.runningMilligpu) + int(row.heldMilligpu)), 1);
  return (
    <>
      <h2>Below it</h2>
      <ul className="shares">
        {below.slice(0, 100).map((row) => (
          <li key={owner(row.account, row.user)}>
            <OwnerLink account={row.account} user={row.user} />
            <Bar whole={whole} parts={[{ className: "runs", value: int(row.runningMilligpu) + int(row.heldMilligpu) }]} />
            <span className="figures">
              holds {gpus(int(row.runningMilligpu) + int(row.heldMilligpu))} GPUs, share {percent(real(row.normShares))},
              recent use {percent(real(row.effectiveUsage))}, {count(int(row.queuedJobs))} waiting
            </span>
          </li>
        ))}
      </ul>
      {below.length > 100 ? <p className="weak">{below.length - 100} more are in Teams.</p> : null}
    </>
  );
}

function parentOf(path: string): string {
  const dot = path.lastIndexOf(".");
  return dot < 0 ? "" : path.slice(0, dot);
}

function Jobs({ picture, now }: { picture: Picture; now: number }) {
  return (
    <>
      <h2>{plural(picture.jobs.length, "job")}{picture.moreJobs ? " and more" : ""}</h2>
      <Table
        label="Jobs that have not ended"
        rows={picture.jobs}
        columns={jobColumns(now)}
        rowKey={(job) => job.id ?? ""}
        height={36}
        phoneHeight={88}
        most={14}
        empty="It has no job that has not ended."
      />
    </>
  );
}

function rowOf(shares: ListSharesResponse, account: string, user: string): ShareRow | undefined {
  return (shares.rows ?? []).find((row) => (row.account ?? "") === account && (row.user ?? "") === user);
}

export function Team({ query }: { query: URLSearchParams }) {
  const account = query.get("account") ?? "";
  const user = query.get("user") ?? "";
  const path = owner(account, user);
  const read = useRead(`team ${path}`, (signal) => load(account, user, signal));
  const now = useNow(read);
  const picture = read.value;
  const row = picture ? rowOf(picture.shares, account, user) : undefined;
  const title = <>{user ? "User" : "Account"} <Name>{path}</Name></>;
  const command = `subak share${account ? ` ${account}` : ""}`;
  return (
    <View title={title} name={path} read={read} at={picture?.shares.time} command={command}>
      {picture && !row ? <p className="problem" role="alert">There is no {user ? "user" : "account"} of this name.</p> : null}
      {picture && row ? (
        <div className="columns">
          <div>
            <Now row={row} />
            <h2>Usage by day</h2>
            <Usage days={picture.days} quota={int(row.quotaMilligpu)} />
            <ShareHistory key={path} path={path} end={instant(picture.shares.time) ?? now} />
            <Jobs picture={picture} now={now} />
          </div>
          <div>
            <h2>Settings</h2>
            <Settings account={picture.account} row={row} />
            <Budgets rows={picture.budgets} now={now} />
            {user ? null : <Members rows={picture.shares.rows ?? []} account={account} />}
            {user ? null : (
              <p>
                <a href={href(["team", "month"], { account, month: month(now) })}>This month as a page to print</a>
                {" · "}
                <a href={href(["audit"], { subject: account })}>Edits of this account</a>
              </p>
            )}
          </div>
        </div>
      ) : null}
    </View>
  );
}
