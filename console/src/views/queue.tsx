// The whole queue in its order, with the first reason of each job and its start estimate.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ListQueueResponse, QueueRow, Status, Workload } from "subak-api";
import { call } from "../call";
import { JobLink, Name, OwnerLink, Start, useNow, View } from "../parts";
import { useRead } from "../read";
import { momentOf, refine } from "../route";
import { Column, Table } from "../table";
import { count, duration, gpus, int, millis, plural, shown } from "../text";

const FIRST = 100; // rows of the first page, which is read again with each news
const PAGE = 500; // rows of later pages
const KEPT_LIVE = 1000; // with more rows, the page reads again only on demand
const MOST_FILTERED = 20_000; // rows that a filter looks at

// The rows that were read. Later pages are appended to the first ones.
interface Part {
  rows: QueueRow[];
  token: string;
  time?: string;
  forecastTime?: string;
  unsettled: number;
  // The number of all rows. Unset: not known.
  total?: number;
}

const partOf = (page: ListQueueResponse, before: QueueRow[], total?: number): Part => ({
  total,
  rows: [...before, ...(page.rows ?? [])],
  token: page.nextPageToken ?? "",
  time: page.time,
  forecastTime: page.forecastTime,
  unsettled: int(page.unsettledJobs),
});

// The jobs of one workload are one row.
const workload = (of?: Workload): string =>
  `${int(of?.running)} of ${int(of?.jobs)} run, ${of?.kind ?? ""} ${of?.name ?? ""}`;

const jobsOf = (rows: QueueRow[]): number => rows.reduce((sum, row) => sum + (int(row.jobs) || 1), 0);

function columns(now: number): Column<QueueRow>[] {
  return [
    {
      title: "Position", width: "4.5rem", number: true,
      cell: (row) => (int(row.position) ? count(int(row.position)) : "–"),
    },
    {
      title: "Job", width: "minmax(9rem, 1.1fr)", phone: "left",
      cell: (row) => (
        <>
          <JobLink id={row.job?.id} />
          <small><Name>{int(row.job?.workload?.jobs) > 1 ? workload(row.job?.workload) : row.job?.spec?.name}</Name></small>
        </>
      ),
    },
    {
      title: "Starts", width: "minmax(11rem, 1.2fr)", phone: "right",
      cell: (row) => <Start start={row.expectedStart} none={row.noEstimate} now={now} />,
    },
    {
      title: "Account", width: "minmax(8rem, 1fr)", phone: "left",
      cell: (row) => <OwnerLink account={row.job?.spec?.account} user={row.job?.spec?.user} />,
    },
    { title: "Shape", width: "minmax(5rem, .6fr)", phone: "right", cell: (row) => shown(row.shape) },
    { title: "GPUs", width: "4rem", number: true, cell: (row) => gpus(row.job?.milligpu) },
    { title: "Waited", width: "6rem", number: true, cell: (row) => duration(millis(row.wait)) },
    {
      title: "Waits for", width: "minmax(12rem, 2fr)", phone: "full",
      cell: (row) => (
        <span title={shown(row.waitsFor?.detail)}>
          {shown(row.waitsFor?.token)} <Name>{row.waitsFor?.subject}</Name>
          <small><Name>{row.waitsFor?.detail}</Name></small>
        </span>
      ),
    },
  ];
}

// The number of all jobs that have a row in the queue.
const waitingOf = (status: Status): number =>
  int(status.jobsQueued) + int(status.jobsPaused) + int(status.jobsIncomplete);

// The queue of one account, page by page.
function useQueue(account: string, all: boolean) {
  const of = `${account} @${momentOf()}`;
  const wanted = useRef(FIRST);
  // The later pages of an account, at the moment of the address.
  const [more, setMore] = useState<{ of: string; part?: Part }>({ of: "" });
  const [reading, setReading] = useState(false);
  const first = useRead(`queue ${account}`, async (signal) => {
    const status = account ? undefined : await call("AdminService/GetStatus", {}, signal);
    const total = status ? waitingOf(status.value) : undefined;
    let part = partOf({}, []);
    let sequence: number | undefined;
    let moment: number | undefined;
    do {
      const request = { account, pageSize: part.token ? PAGE : FIRST, pageToken: part.token };
      const answer = await call("JobService/ListQueue", request, signal);
      sequence ??= answer.sequence;
      moment ??= answer.moment;
      part = partOf(answer.value, part.rows, total);
    } while (part.token && part.rows.length < Math.min(wanted.current, KEPT_LIVE));
    return { value: part, sequence, moment };
  });
  const beyond = more.of === of && more.part && more.part.rows.length > KEPT_LIVE;
  const part = beyond ? more.part : first.value;
  const next = useCallback(() => {
    if (!part?.token || reading) return;
    setReading(true);
    const request = { account, pageSize: PAGE, pageToken: part.token };
    call("JobService/ListQueue", request)
      .then((answer) => {
        const longer = partOf(answer.value, part.rows, part.total);
        wanted.current = longer.rows.length;
        setMore({ of, part: longer });
      })
      .catch(() => undefined)
      .finally(() => setReading(false));
  }, [account, of, part, reading]);
  useEffect(() => {
    if (all && part?.token && part.rows.length < MOST_FILTERED) next();
  }, [all, part, next]);
  const again = () => {
    wanted.current = FIRST;
    setMore({ of });
  };
  return { read: first, part, next, beyond: Boolean(beyond), again };
}

interface Filters {
  account: string;
  user: string;
  reason: string;
}

function Field(props: { label: string; value: string; list?: string[]; change: (value: string) => void }) {
  const id = "filter-" + props.label.toLowerCase();
  return (
    <label htmlFor={id}>
      {props.label}
      <input
        id={id}
        list={id + "-list"}
        value={props.value}
        spellCheck={false}
        onChange={(event) => props.change(event.target.value)}
      />
      <datalist id={id + "-list"}>
        {(props.list ?? []).slice(0, 100).map((value) => <option key={value} value={value} />)}
      </datalist>
    </label>
  );
}

function FilterBar({ filters, rows }: { filters: Filters; rows: QueueRow[] }) {
  const lists = useMemo(() => {
    const unique = (values: (string | undefined)[]) =>
      [...new Set(values.filter((value): value is string => Boolean(value)))].sort();
    return {
      account: unique(rows.map((row) => row.job?.spec?.account)),
      user: unique(rows.map((row) => row.job?.spec?.user)),
      reason: unique(rows.map((row) => row.waitsFor?.token)),
    };
  }, [rows]);
  const any = filters.account || filters.user || filters.reason;
  return (
    <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <Field label="Account" value={filters.account} list={lists.account} change={(account) => refine({ account })} />
      <Field label="User" value={filters.user} list={lists.user} change={(user) => refine({ user })} />
      <Field label="Reason" value={filters.reason} list={lists.reason} change={(reason) => refine({ reason })} />
      {any ? (
        <button type="button" onClick={() => refine({ account: "", user: "", reason: "" })}>Show all</button>
      ) : null}
    </form>
  );
}

// Returns `value` once it has not changed for a moment, so that typing does not ask at each letter.
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), 250);
    return () => window.clearTimeout(timer);
  }, [value]);
  return settled;
}

function sentence(rows: QueueRow[], part: Part, filtered: boolean): string {
  const more = part.token !== "";
  const known = jobsOf(part.rows);
  const read = more && part.total ? count(Math.max(part.total, known)) : count(known) + (more ? "+" : "");
  const what = filtered ? `${plural(jobsOf(rows), "job")} of ${read} waiting` : `${read} waiting`;
  return what + (part.unsettled ? `, ${part.unsettled} starting or ending` : "");
}

export function Queue({ query }: { query: URLSearchParams }) {
  const filters: Filters = {
    account: query.get("account") ?? "", user: query.get("user") ?? "", reason: query.get("reason") ?? "",
  };
  const account = useSettled(filters.account);
  const filtered = Boolean(filters.user || filters.reason);
  const { read, part, next, beyond, again } = useQueue(account, filtered);
  const now = useNow(read);
  const rows = useMemo(() => {
    const user = filters.user.toLowerCase();
    const reason = filters.reason.toLowerCase();
    return (part?.rows ?? []).filter(
      (row) =>
        (row.job?.spec?.user ?? "").toLowerCase().includes(user) &&
        `${row.waitsFor?.token ?? ""} ${row.waitsFor?.subject ?? ""}`.toLowerCase().includes(reason),
    );
  }, [part, filters.user, filters.reason]);
  const command = "subak queue" + (account ? ` --account ${account}` : "");
  return (
    <View title="Queue" name="Queue" read={read} at={part?.time} command={command}>
      <FilterBar filters={filters} rows={part?.rows ?? []} />
      {part ? (
        <>
          <p className="summary" role="status">
            {sentence(rows, part, filtered || account !== "")}{" "}
            {beyond ? <button type="button" onClick={again}>Many rows are shown as they were. Read again</button> : null}
          </p>
          <Table
            label="Jobs that wait, the next one first"
            rows={rows}
            columns={columns(now)}
            rowKey={(row) => row.job?.id ?? ""}
            height={46}
            phoneHeight={96}
            total={part.token ? Math.max(part.total ?? 0, rows.length + 1) : rows.length}
            onEnd={part.token ? next : undefined}
            empty={filtered || account ? "No job that waits fits the filters." : "Nothing waits."}
          />
        </>
      ) : null}
    </View>
  );
}
