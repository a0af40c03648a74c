// What happened to a job: the events that the service finds in its facts, oldest first.
import type { JobEvent } from "subak-api";
import { Answer, call } from "../call";
import { JobLink, Name, NodeLink } from "../parts";
import { useRead } from "../read";
import { duration, instant, int, plural, shown, time } from "../text";

const EVENTS = 100;
// A page may be short although more events follow.
const PAGES = 5;

interface History {
  events: JobEvent[];
  // True: more events follow.
  more: boolean;
}

// Reads the events that began up to the fact `last`. The service finds them in the facts of the present.
async function readHistory(id: string, last: number, signal: AbortSignal): Promise<Answer<History>> {
  const events: JobEvent[] = [];
  let pageToken = "";
  let sequence: number | undefined;
  for (let page = 0; page < PAGES && events.length < EVENTS; ++page) {
    const answer = await call("JobService/GetJobHistory", { jobId: id, pageSize: EVENTS - events.length, pageToken }, signal, "");
    const all = answer.value.events ?? [];
    const begun = all.filter((event) => int(event.sequence) <= last);
    events.push(...begun);
    pageToken = begun.length < all.length ? "" : (answer.value.nextPageToken ?? "");
    sequence = answer.sequence;
    if (!pageToken) break;
  }
  return { value: { events, more: pageToken !== "" }, sequence };
}

function Places({ event }: { event: JobEvent }) {
  const nodes = event.nodes ?? [];
  const jobs = event.jobs ?? [];
  const more = (count: number | undefined, shownOnes: number) =>
    (count ?? 0) > shownOnes ? ` and ${(count ?? 0) - shownOnes} more` : "";
  return (
    <>
      {nodes.length ? <>; on {nodes.slice(0, 4).map((name, i) => <span key={name}>{i ? ", " : ""}<NodeLink name={name} /></span>)}{more(event.nodeCount, Math.min(4, nodes.length))}</> : null}
      {jobs.length ? <>; {jobs.length > 1 ? "jobs" : "job"} {jobs.slice(0, 4).map((id, i) => <span key={id}>{i ? ", " : ""}<JobLink id={id} /></span>)}{more(event.jobCount, Math.min(4, jobs.length))}</> : null}
    </>
  );
}

// The earlier moment that a view shows: its time in ms since 1970, and its last fact.
export interface Moment {
  ms: number;
  sequence: number;
}

// Reads again only when `state` changes, since the service searches its facts for each answer. `moment`: leave out
// later events.
export function JobHistory(props: { id: string; state: string; now: number; moment?: Moment }) {
  const { id, state, now, moment } = props;
  const last = moment?.sequence ?? Infinity;
  const read = useRead(`history ${id} ${state} ${last}`, (signal) => readHistory(id, last, signal), false);
  const events = read.value?.events ?? [];
  return (
    <section aria-labelledby="history">
      <h2 id="history">What happened</h2>
      {read.error ? <p className="problem" role="alert">{shown(read.error.message)}</p> : null}
      {!read.value && !read.error ? <p role="status">Reading …</p> : null}
      <ol className="reasons">
        {events.map((event) => {
          const took = (instant(event.lastTime) ?? 0) - (instant(event.time) ?? 0);
          return (
            <li key={event.sequence}>
              <span className="weak">{time(event.time, now)}{took >= 1000 ? ` + ${duration(took)}` : ""}</span>{" "}
              <Name>{event.text}</Name>
              <Places event={event} />
              {moment && (instant(event.lastTime) ?? 0) > moment.ms ? " (other pods followed after this moment)" : ""}
            </li>
          );
        })}
      </ol>
      {read.value?.more ? (
        <p className="weak">The first {plural(events.length, "event")}. <code>subak job history {shown(id)}</code> prints all.</p>
      ) : null}
    </section>
  );
}
