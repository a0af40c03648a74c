// Draws the plan of the fleet: time from left to right, one row for each domain, and in a row the
// jobs on top of each other, each as high as its number of GPUs.
import type { Plan, PlanLane, PlanRow } from "subak-api";
import { fitText, Size, stripes } from "./canvas";
import { clock, day, gpus, instant, int, millis, shown } from "./text";

export const ROW = 44;
export const AXIS = 26;
const GAP = 6;

export interface Window {
  from: number;
  to: number;
}

export interface Scene {
  plan: Plan;
  window: Window;
  // How far the rows are scrolled, in pixels.
  top: number;
  label: number;
  chosen: number;
  colour: (name: string) => string;
}

const KINDS: { [kind: string]: string } = {
  PLAN_KIND_RUNS: "runs",
  PLAN_KIND_IDLE: "idle",
  PLAN_KIND_FORECAST: "forecast",
};

export const kindOf = (lane: PlanLane): string => KINDS[lane.kind ?? ""] ?? "runs";

// The first and last instant of the plan.
export function spanOf(plan: Plan): Window {
  const from = instant(plan.time) ?? Date.now();
  return { from, to: Math.max(instant(plan.until) ?? from, from + 1000) };
}

const STEPS_S = [10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800];

// Draws the lines of the axis, which lie under the jobs, or its times, which lie above the rows.
function drawAxis(context: CanvasRenderingContext2D, scene: Scene, size: Size, part: "lines" | "times"): void {
  const { window, label, colour } = scene;
  const width = size.width - label;
  const least = ((window.to - window.from) / width) * 90;
  const step = (STEPS_S.find((s) => s * 1000 >= least) ?? STEPS_S[STEPS_S.length - 1]) * 1000;
  if (part === "times") {
    context.fillStyle = colour("--ground");
    context.fillRect(0, 0, size.width, AXIS);
  }
  context.font = "12px system-ui, sans-serif";
  for (let at = Math.ceil(window.from / step) * step; at <= window.to; at += step) {
    const x = label + ((at - window.from) / (window.to - window.from)) * width;
    if (part === "lines") {
      context.fillStyle = colour("--line");
      context.fillRect(x, AXIS - 6, 1, size.height);
      continue;
    }
    context.fillStyle = colour("--weak");
    const text = step >= 86_400_000 ? day(at).slice(5) : clock(at).slice(0, step < 60_000 ? 8 : 5);
    context.fillText(text, x + 3, AXIS - 9);
  }
}

const clamp = (value: number, least: number, most: number) => Math.min(most, Math.max(least, value));

// Returns the outline of each stretch of columns with GPUs, on top of `base`.
function outlines(amounts: number[], base: number[], x: (column: number) => number, y: (milligpu: number) => number): Path2D[] {
  const paths: Path2D[] = [];
  for (let from = 0; from < amounts.length; ) {
    let to = from;
    while (to < amounts.length && amounts[to] > 0) to += 1;
    if (to > from && x(to) > x(from)) {
      const path = new Path2D();
      for (let i = from; i < to; i += 1) {
        path.lineTo(x(i), y(base[i] + amounts[i]));
        path.lineTo(x(i + 1), y(base[i] + amounts[i]));
      }
      for (let i = to; i > from; i -= 1) {
        path.lineTo(x(i), y(base[i - 1]));
        path.lineTo(x(i - 1), y(base[i - 1]));
      }
      path.closePath();
      paths.push(path);
    }
    from = to + 1;
  }
  return paths;
}

// Draws a lane on top of `base`: one polygon for each stretch of time with GPUs, and its name in the
// widest level part.
function drawLane(
  context: CanvasRenderingContext2D, scene: Scene, size: Size, row: PlanRow, lane: PlanLane, base: number[], top: number,
): void {
  const { plan, window, label } = scene;
  const step = millis(plan.step);
  const start = spanOf(plan).from;
  const width = size.width - label;
  const installed = Math.max(1, int(row.installedMilligpu));
  const high = ROW - GAP;
  const x = (at: number) => label + ((at - window.from) / (window.to - window.from)) * width;
  const amounts = (lane.milligpu ?? []).map(Number);
  for (const path of outlines(amounts, base, (i) => clamp(x(start + i * step), label, size.width), (m) => top + high - (high * m) / installed)) {
    context.fill(path);
    context.stroke(path);
  }
  let best = { from: 0, width: 0, y: 0, height: 0 };
  for (let i = 0; i < amounts.length; ) {
    let end = i + 1;
    while (end < amounts.length && amounts[end] === amounts[i] && base[end] === base[i]) end += 1;
    const left = Math.max(label, x(start + i * step));
    const right = Math.min(size.width, x(start + end * step));
    if (amounts[i] > 0 && right > left) {
      const height = (high * amounts[i]) / installed;
      const y = top + high - (high * (base[i] + amounts[i])) / installed;
      if (height >= 11 && right - left > best.width) best = { from: left, width: right - left, y, height };
    }
    i = end;
  }
  if (best.width > 30) {
    const others = int(lane.jobs) > 1 ? ` +${int(lane.jobs) - 1}` : "";
    context.save();
    context.fillStyle = scene.colour(`--on-${kindOf(lane)}`);
    fitText(context, `${lane.jobId ?? ""} ${shown(lane.jobName)}${others}`, best.from + 4, best.y + best.height / 2 + 4, best.width - 8);
    context.restore();
  }
}

export const rowName = (row: PlanRow): string =>
  int(row.domains) > 1 && row.lastName !== row.name ? `${row.name ?? ""} … ${row.lastName ?? ""}` : (row.name ?? row.product ?? "");

function drawGround(context: CanvasRenderingContext2D, scene: Scene, size: Size, i: number): void {
  context.fillStyle = scene.colour("--free");
  context.fillRect(scene.label, AXIS + i * ROW - scene.top + GAP / 2, size.width - scene.label, ROW - GAP);
}

function drawRow(context: CanvasRenderingContext2D, scene: Scene, size: Size, row: PlanRow, i: number, fills: Fills): void {
  const top = AXIS + i * ROW - scene.top + GAP / 2;
  const { colour, label } = scene;
  context.font = "11px system-ui, sans-serif";
  context.strokeStyle = colour("--ground");
  context.lineWidth = 0.8;
  const base: number[] = [];
  for (const lane of row.lanes ?? []) {
    const amounts = (lane.milligpu ?? []).map(Number);
    for (let k = base.length; k < amounts.length; k += 1) base.push(0);
    context.fillStyle = fills[kindOf(lane)];
    drawLane(context, scene, size, row, lane, base, top);
    amounts.forEach((amount, k) => (base[k] += amount));
  }
  const closed: PlanLane = { kind: undefined, milligpu: row.closedMilligpu, jobs: "2" };
  const above = base.map((used, k) => used + int(row.freeMilligpu?.[k]));
  context.fillStyle = fills.closed;
  drawLane(context, { ...scene, colour: () => "transparent" }, size, row, closed, above, top);
  context.fillStyle = i === scene.chosen ? colour("--accent") : colour("--ground");
  context.fillRect(0, top, label - 4, ROW - GAP);
  context.fillStyle = i === scene.chosen ? colour("--on-accent") : colour("--strong");
  context.font = "13px system-ui, sans-serif";
  fitText(context, shown(rowName(row)), 6, top + 16, label - 16);
  context.fillStyle = i === scene.chosen ? colour("--on-accent") : colour("--weak");
  context.font = "11px system-ui, sans-serif";
  const what = int(row.domains) > 1 ? `${row.domains ?? ""} domains, ` : "";
  fitText(context, `${what}${gpus(row.installedMilligpu)} × ${shown(row.product)}`, 6, top + 31, label - 16);
}

type Fills = { [kind: string]: CanvasPattern | string };

export function drawPlan(context: CanvasRenderingContext2D, scene: Scene, size: Size): void {
  const { colour, plan } = scene;
  const fills: Fills = {
    runs: colour("--runs"),
    forecast: stripes(context, colour("--forecast"), colour("--forecast-line"), 1),
    idle: stripes(context, colour("--idle"), colour("--idle-line"), -1),
    closed: colour("--closed"),
  };
  const rows = plan.rows ?? [];
  const first = Math.max(0, Math.floor(scene.top / ROW));
  const last = Math.min(rows.length, Math.ceil((scene.top + size.height) / ROW) + 1);
  for (let i = first; i < last; i += 1) drawGround(context, scene, size, i);
  drawAxis(context, scene, size, "lines");
  for (let i = first; i < last; i += 1) drawRow(context, scene, size, rows[i], i, fills);
  drawAxis(context, scene, size, "times");
}

// Returns what a row holds at an instant, as one sentence.
export function rowSentence(plan: Plan, row: PlanRow, at: number): string {
  const step = millis(plan.step) || 1;
  const column = Math.max(0, Math.floor((at - spanOf(plan).from) / step));
  const words: { [kind: string]: string } = { runs: "runs on", idle: "keeps idle", forecast: "will hold" };
  const parts = (row.lanes ?? [])
    .filter((lane) => int(lane.milligpu?.[column]) > 0)
    .map((lane) => {
      const others = int(lane.jobs) > 1 ? ` and ${int(lane.jobs) - 1} more` : "";
      return `${lane.jobId ?? ""} ${shown(lane.jobName)}${others} ${words[kindOf(lane)]} ${gpus(lane.milligpu?.[column])}`;
    });
  const free = int(row.freeMilligpu?.[column]);
  if (free) parts.push(`${gpus(free)} free`);
  const closed = int(row.closedMilligpu?.[column]);
  if (closed) parts.push(`${gpus(closed)} not usable`);
  return `${shown(rowName(row))} at ${clock(at).slice(0, 5)} UTC, ${gpus(row.installedMilligpu)} GPUs: ${parts.join("; ") || "nothing"}.`;
}

// Returns the lane at a point of the canvas.
export function laneAt(scene: Scene, size: Size, x: number, y: number): { row: number; at: number; lane?: PlanLane } | undefined {
  const { plan, window } = scene;
  const row = Math.floor((y - AXIS + scene.top) / ROW);
  const found = plan.rows?.[row];
  if (!found || y < AXIS) return undefined;
  const part = Math.max(0, (x - scene.label) / (size.width - scene.label));
  const at = window.from + part * (window.to - window.from);
  if (x < scene.label) return { row, at };
  const column = Math.floor((at - spanOf(plan).from) / (millis(plan.step) || 1));
  const inRow = (ROW - GAP / 2 - (y - AXIS + scene.top - row * ROW)) / (ROW - GAP);
  let base = 0;
  for (const lane of found.lanes ?? []) {
    base += int(lane.milligpu?.[column]);
    if (inRow * int(found.installedMilligpu) <= base) return { row, at, lane };
  }
  return { row, at };
}
