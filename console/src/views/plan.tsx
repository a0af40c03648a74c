// The plan of the fleet as a Gantt chart, and its jobs as a table.
import { MouseEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Plan, PlanJob } from "subak-api";
import { call } from "../call";
import { useCanvas } from "../canvas";
import { useColour } from "../colours";
import { AXIS, drawPlan, laneAt, ROW, rowSentence, Scene, spanOf, Window } from "../gantt";
import { onKeys } from "../keys";
import { JobLink, NodeLink, OwnerLink, Start, useMedia, useNow, View } from "../parts";
import { useRead } from "../read";
import { go, href, refine } from "../route";
import { Column, PHONE, Table } from "../table";
import { gpus, instant, plural, relative, shown, time } from "../text";

const COLUMNS = 200;
const ROWS = 200;
const RANGES: [string, string, number][] = [
  ["", "until most jobs have ended", 0],
  ["1h", "1 hour", 1],
  ["6h", "6 hours", 6],
  ["24h", "1 day", 24],
  ["168h", "7 days", 168],
];
const WHAT: { [kind: string]: string } = {
  PLAN_KIND_RUNS: "runs", PLAN_KIND_IDLE: "reserved", PLAN_KIND_FORECAST: "forecast",
};
const LEAST_MS = 60_000; // the shortest window of time

function useWindow(plan: Plan | undefined): [Window | undefined, (change: (old: Window) => Window) => void, () => void] {
  const [zoom, setZoom] = useState<{ from: number; to: number }>(); // parts of the plan's span
  const span = plan ? spanOf(plan) : undefined;
  const whole = span ? span.to - span.from : 1;
  const window_ = span && zoom ? { from: span.from + zoom.from * whole, to: span.from + zoom.to * whole } : span;
  const change = useCallback(
    (step: (old: Window) => Window) => {
      if (!span || !window_) return;
      const next = step(window_);
      const length = Math.min(whole, Math.max(LEAST_MS, next.to - next.from));
      const from = Math.min(Math.max(next.from, span.from), span.to - length);
      setZoom({ from: (from - span.from) / whole, to: (from + length - span.from) / whole });
    },
    [span, window_, whole],
  );
  return [window_, change, () => setZoom(undefined)];
}

function zoomed(old: Window, by: number, at?: number): Window {
  const middle = at ?? (old.from + old.to) / 2;
  return { from: middle - (middle - old.from) * by, to: middle + (old.to - middle) * by };
}

function Chart({ plan }: { plan: Plan }) {
  const colour = useColour();
  const phone = useMedia(PHONE);
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [view, change, whole] = useWindow(plan);
  const [top, setTop] = useState(0);
  const [chosen, setChosen] = useState(-1);
  const [told, setTold] = useState("");
  const rows = plan.rows ?? [];
  const label = phone ? 96 : 210;
  const scene = useMemo<Scene>(
    () => ({ plan, window: view ?? spanOf(plan), top, label, chosen, colour }),
    [plan, view?.from, view?.to, top, label, chosen, colour],
  );
  useCanvas(canvas, useCallback((context, size) => drawPlan(context, scene, size), [scene]));
  const choose = (row: number) => {
    if (!rows.length || !box.current) return;
    const next = Math.max(0, Math.min(rows.length - 1, row));
    setChosen(next);
    setTold(rowSentence(plan, rows[next], scene.window.from));
    const room = box.current.clientHeight - AXIS;
    if (next * ROW < box.current.scrollTop) box.current.scrollTop = next * ROW;
    if ((next + 1) * ROW > box.current.scrollTop + room) box.current.scrollTop = (next + 1) * ROW - room;
  };
  const keys: { [key: string]: () => void } = {
    "+": () => change((old) => zoomed(old, 0.6)),
    "=": () => change((old) => zoomed(old, 0.6)),
    "-": () => change((old) => zoomed(old, 1 / 0.6)),
    "0": whole,
    ArrowLeft: () => change((old) => moved(old, -0.15)),
    ArrowRight: () => change((old) => moved(old, 0.15)),
    ArrowDown: () => choose(chosen + 1),
    ArrowUp: () => choose(chosen - 1),
    Enter: () => {
      const job = rows[chosen]?.lanes?.[0]?.jobId;
      if (job) go(href(["job", job]));
    },
  };
  const pressed = onKeys(keys);
  const under = (event: MouseEvent) => {
    const element = canvas.current;
    if (!element) return undefined;
    const edge = element.getBoundingClientRect();
    return laneAt(scene, { width: edge.width, height: edge.height }, event.clientX - edge.left, event.clientY - edge.top);
  };
  const over = (event: MouseEvent) => {
    const hit = under(event);
    if (hit) setTold(rowSentence(plan, rows[hit.row], hit.at));
  };
  const clicked = (event: MouseEvent) => {
    const hit = under(event);
    if (hit?.lane?.jobId) go(href(["job", hit.lane.jobId]));
    else if (hit) choose(hit.row);
  };
  useWheel(box, change, label);
  return (
    <>
      <p className="chart-keys">
        <button type="button" onClick={keys["+"]} aria-label="Nearer in time">+</button>
        <button type="button" onClick={keys["-"]} aria-label="Farther in time">−</button>
        <button type="button" onClick={keys.ArrowLeft} aria-label="Earlier">←</button>
        <button type="button" onClick={keys.ArrowRight} aria-label="Later">→</button>
        <button type="button" onClick={whole}>All</button>
        <Legend />
      </p>
      <div
        className="gantt"
        ref={box}
        tabIndex={0}
        role="application"
        aria-roledescription="chart"
        aria-label={`Plan of ${plural(rows.length, "row")}. Arrows choose a row and move in time, plus and minus zoom. The table below has the same jobs.`}
        onKeyDown={pressed}
        onMouseMove={over}
        onClick={clicked}
        onScroll={() => setTop(box.current?.scrollTop ?? 0)}
        style={{ height: Math.min(rows.length * ROW + AXIS + 2, 560) }}
      >
        <div className="canvas-box" style={{ height: Math.min(rows.length * ROW + AXIS, 558) }}>
          <canvas ref={canvas} aria-hidden="true" />
        </div>
        <div style={{ height: Math.max(0, rows.length * ROW + AXIS - 558) }} />
      </div>
      <p className="told" role="status">{told || "Point at a row, or choose one with the arrows."}</p>
    </>
  );
}

const moved = (old: Window, part: number): Window => {
  const by = (old.to - old.from) * part;
  return { from: old.from + by, to: old.to + by };
};

// Zooms with the wheel and Ctrl; the wheel alone scrolls the rows.
function useWheel(box: React.RefObject<HTMLDivElement>, change: (step: (old: Window) => Window) => void, label: number) {
  useEffect(() => {
    const element = box.current;
    const turned = (event: WheelEvent) => {
      if (!element || !event.ctrlKey) return;
      event.preventDefault();
      const edge = element.getBoundingClientRect();
      const part = Math.max(0, (event.clientX - edge.left - label) / (edge.width - label));
      change((old) => zoomed(old, event.deltaY > 0 ? 1.25 : 0.8, old.from + part * (old.to - old.from)));
    };
    element?.addEventListener("wheel", turned, { passive: false });
    return () => element?.removeEventListener("wheel", turned);
  }, [box, change, label]);
}

function Legend() {
  return (
    <span className="legend">
      <span><i className="runs" />runs</span>
      <span><i className="idle striped-back" />reserved, idle</span>
      <span><i className="forecast striped" />forecast</span>
      <span><i className="closed" />not usable</span>
      <span><i className="free" />free</span>
    </span>
  );
}

function columns(now: number): Column<PlanJob>[] {
  return [
    {
      title: "Job", width: "minmax(9rem, 1.2fr)", phone: "left",
      cell: (row) => <JobLink id={row.job?.id} name={row.job?.spec?.name} />,
    },
    {
      title: "What", width: "8rem", phone: "right",
      cell: (row) => <span className={"tag " + (WHAT[row.kind ?? ""] ?? "")}>{WHAT[row.kind ?? ""]}</span>,
    },
    {
      title: "Account", width: "minmax(8rem, 1fr)", phone: "left",
      cell: (row) => <OwnerLink account={row.job?.spec?.account} user={row.job?.spec?.user} />,
    },
    { title: "GPUs", width: "4.5rem", number: true, phone: "right", cell: (row) => gpus(row.job?.milligpu) },
    {
      title: "Start", width: "minmax(10rem, 1fr)",
      cell: (row) =>
        row.expectedStart ? <Start start={row.expectedStart} now={now} /> : row.start ? time(row.start, now) : "–",
    },
    {
      title: "End", width: "minmax(9rem, 1fr)", phone: "left",
      cell: (row) => {
        const end = instant(row.end);
        if (end === undefined) return "–";
        return <>{relative(Math.max(end, now), now)}<small>{time(end, now)}{row.endAssumed ? ", assumed" : ""}</small></>;
      },
    },
    { title: "Idle for it", width: "6rem", number: true, cell: (row) => (row.idleMilligpu ? gpus(row.idleMilligpu) : "–") },
    {
      title: "Nodes", width: "minmax(8rem, 1.2fr)", phone: "right",
      cell: (row) => (
        <>
          {(row.nodes ?? []).slice(0, 2).map((name, i) => <span key={name}>{i ? ", " : ""}<NodeLink name={name} /></span>)}
          {(row.nodeCount ?? 0) > 2 ? ` and ${(row.nodeCount ?? 0) - 2} more` : ""}
        </>
      ),
    },
  ];
}

export function PlanView({ query }: { query: URLSearchParams }) {
  const now = useNow();
  const range = RANGES.find(([key]) => key === (query.get("until") ?? "")) ?? RANGES[0];
  const domain = query.get("domain") ?? "";
  const read = useRead(`plan ${range[0]} ${domain}`, (signal) => {
    const until = range[2] ? new Date(Date.now() + range[2] * 3_600_000).toISOString() : undefined;
    return call("ClusterService/GetPlan", { until, domain, columns: COLUMNS, rows: ROWS, lanes: 4, jobs: 1000 }, signal);
  });
  const plan = read.value;
  const jobs = plan?.jobs ?? [];
  const command = "subak plan" + (domain ? ` --domain ${domain}` : "") + (range[0] ? ` --until ${range[0]}` : "") + " --all";
  return (
    <View title="Plan" name="Plan" read={read} at={plan?.time} command={command}>
      <form className="filters" aria-label="Range" onSubmit={(event) => event.preventDefault()}>
        <label htmlFor="until">
          How far
          <select id="until" className="wide" value={range[0]} onChange={(event) => refine({ until: event.target.value })}>
            {RANGES.map(([key, name]) => <option key={key} value={key}>{name}</option>)}
          </select>
        </label>
        {domain ? <button type="button" onClick={() => refine({ domain: "" })}>Show all, not only {shown(domain)}</button> : null}
      </form>
      {plan ? (
        <>
          <Chart plan={plan} />
          {Number(plan.rowsLeftOut ?? 0) ? <p className="weak">{plan.rowsLeftOut} rows are left out.</p> : null}
          <h2>{plural(jobs.length, "job")}{Number(plan.jobsLeftOut ?? 0) ? ` of ${jobs.length + Number(plan.jobsLeftOut)}` : ""}</h2>
          <Table
            label="Jobs of the plan"
            rows={jobs}
            columns={columns(now)}
            rowKey={(row) => `${row.kind ?? ""} ${row.job?.id ?? ""}`}
            height={44}
            phoneHeight={92}
            most={14}
            empty="No job holds or will hold GPUs."
          />
          <p className="weak">Ends and later starts are predictions. They assume that no new jobs come.</p>
        </>
      ) : null}
    </View>
  );
}
