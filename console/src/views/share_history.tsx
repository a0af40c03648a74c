// What an account or user was due and what it had, over time. Each point is the state of one moment.
import type { ShareRow } from "subak-api";
import { useEffect, useRef, useState } from "react";
import { call, CallError } from "../call";
import { Curve } from "../curve";
import { momentOf } from "../route";
import { int, isoText, real, shown } from "../text";

const HOUR_MS = 3_600_000;
const PERIODS = [
  { name: "The last 24 hours", step: HOUR_MS, steps: 24 },
  { name: "The last 30 days", step: 24 * HOUR_MS, steps: 30 },
];

type Period = (typeof PERIODS)[number];
type Point = [number, ShareRow];

// Returns the whole steps before `end`, and `end` itself. The name of `end` is the moment of the address.
function moments(period: Period, end: number): { ms: number; at: string }[] {
  const last = Math.ceil(end / period.step) * period.step;
  const all: { ms: number; at: string }[] = [];
  for (let i = period.steps; i > 0; --i) all.push({ ms: last - i * period.step, at: isoText(last - i * period.step) });
  return [...all, { ms: end, at: momentOf() }];
}

// Returns the time of the store's first fact, in ms since 1970: no earlier moment can be asked for.
async function firstMoment(signal: AbortSignal): Promise<number> {
  return (await call("AccountService/ListShares", { pageSize: 1 }, signal, "1")).moment ?? 0;
}

// Returns the row at a moment. Undefined: the account did not exist then.
async function rowAt(path: string, at: string, signal: AbortSignal): Promise<ShareRow | undefined> {
  try {
    return (await call("AccountService/ListShares", { account: path, pageSize: 1 }, signal, at)).value.rows?.[0];
  } catch (error) {
    if (at && error instanceof CallError && error.code === "not_found") return undefined;
    throw error;
  }
}

function Curves({ points, step }: { points: Point[]; step: number }) {
  const holds = (row: ShareRow) => (int(row.runningMilligpu) + int(row.heldMilligpu)) / 1000;
  return (
    <>
      <Curve
        label="Recent use and share among siblings"
        points={points.map(([ms, row]) => [ms, 100 * real(row.effectiveUsage), 100 * real(row.normShares)])}
        series={["recent use", "share"]}
        unit="%"
        step={step}
      />
      <Curve
        label="GPUs that it held, and its quota"
        points={points.map(([ms, row]) => [ms, holds(row), int(row.quotaMilligpu) / 1000])}
        series={["held", "quota"]}
        unit="GPUs"
        step={step}
      />
    </>
  );
}

// Reads the moments one after another, oldest first: then the service goes on from each state to the next.
export function ShareHistory({ path, end }: { path: string; end: number }) {
  const [period, setPeriod] = useState<Period>();
  const [points, setPoints] = useState<Point[]>([]);
  const [left, setLeft] = useState(0);
  const [problem, setProblem] = useState("");
  const reading = useRef<AbortController>();
  useEffect(() => () => reading.current?.abort(), []);
  const show = async (chosen: Period) => {
    reading.current?.abort();
    const mine = new AbortController();
    reading.current = mine;
    setPeriod(chosen);
    setPoints([]);
    setProblem("");
    setLeft(chosen.steps);
    try {
      const first = await firstMoment(mine.signal);
      const all = moments(chosen, end).filter(({ ms, at }) => ms >= first || at === momentOf());
      for (const [i, { ms, at }] of all.entries()) {
        setLeft(all.length - i);
        const row = await rowAt(path, at, mine.signal);
        if (mine.signal.aborted) return;
        if (row) setPoints((before) => [...before, [ms, row]]);
      }
    } catch (error) {
      if (mine.signal.aborted) return;
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setLeft(0);
  };
  return (
    <section aria-labelledby="share-history">
      <h2 id="share-history">Share over time</h2>
      <p className="choices">
        {PERIODS.map((one) => (
          <button key={one.name} type="button" aria-pressed={one === period} onClick={() => void show(one)}>
            {one.name}
          </button>
        ))}
      </p>
      <p role="status" className="weak">{left ? `Reading, ${left} moments left …` : ""}</p>
      {problem ? <p className="problem" role="alert">{shown(problem)}</p> : null}
      {period && points.length ? <Curves points={points} step={period.step} /> : null}
      {period && !left && !points.length && !problem ? <p className="weak">There are no figures of this time.</p> : null}
    </section>
  );
}
