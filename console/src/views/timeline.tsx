// The life of a job as a list of instants: what happened, and what is expected.
import type { Explanation } from "subak-api";
import { JobLink } from "../parts";
import { duration, instant, relative, time, word } from "../text";
import { ReactNode } from "react";

interface Mark {
  at: number;
  what: ReactNode;
  // "past", or for the future "expected".
  kind: "past" | "expected";
}

function marksOf(answer: Explanation, now: number): Mark[] {
  const job = answer.job ?? {};
  const marks: Mark[] = [];
  const add = (timestamp: string | undefined, what: ReactNode) => {
    const at = instant(timestamp);
    if (at !== undefined) marks.push({ at, what, kind: at <= now ? "past" : "expected" });
  };
  // An expected instant that has passed is due now.
  const expect = (timestamp: string | undefined, what: ReactNode) => {
    const at = instant(timestamp);
    if (at !== undefined) marks.push({ at: Math.max(at, now), what, kind: "expected" });
  };
  const state = word(job.state, "JOB_STATE_");
  const { preemption } = job;
  if (preemption && preemption.submitted !== job.submitTime) add(preemption.submitted, "first submitted");
  add(job.submitTime, preemption ? "waits again" : "submitted");
  add(preemption?.started, `attempt ${Math.max(1, (job.attempt ?? 1) - (state === "queued" ? 0 : 1))} started`);
  add(preemption?.asked, <>preempted{preemption?.claimant ? <> for <JobLink id={preemption.claimant} /></> : null}</>);
  add(job.startTime, (job.attempt ?? 1) > 1 ? `started, attempt ${job.attempt}` : "started");
  add(answer.patienceUntil, "from now on nodes may be reserved for it");
  const start = answer.expectedStart;
  if (start) {
    expect(start.expected, start.promised ? "expected start, promised" : "expected start");
    expect(start.latest, start.promised ? "starts by then at the latest" : "unlikely to start later");
  }
  if (state === "starting") add(job.until, "loses its hold unless all pods are bound");
  if (state === "paused") add(job.until, "is queued again");
  if (state === "ending") add(job.until, "the pods should be gone");
  if (state !== "done") expect(job.plannedEnd, "planned end");
  add(job.endTime, `ended: ${word(job.cause, "CAUSE_") || "cause not known"}`);
  return marks.sort((a, b) => a.at - b.at);
}

export function Timeline({ answer, now }: { answer: Explanation; now: number }) {
  const marks = marksOf(answer, now);
  return (
    <ol className="timeline">
      {marks.map((mark, i) => (
        <li key={i} className={mark.kind}>
          <span className="what">{mark.what}</span>
          <span className="weak">
            <time dateTime={new Date(mark.at).toISOString()}>{time(mark.at, now)}</time>, {relative(mark.at, now)}
            {i > 0 && mark.at - marks[i - 1].at > 1000 ? ` · after ${duration(mark.at - marks[i - 1].at)}` : ""}
          </span>
        </li>
      ))}
    </ol>
  );
}
