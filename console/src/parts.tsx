// Small parts that all views use.
import { ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { ExpectedStart, Job, WaitReason } from "subak-api";
import { CallError } from "./call";
import { linkNow, onLink } from "./link";
import { liveState, onLiveState } from "./live";
import { MomentBar } from "./moment";
import type { Read } from "./read";
import { href, momentOf, teamHref } from "./route";
import { clock, day, gpus, instant, int, owner, relative, shown, time, word } from "./text";

// A name that a person chose. It shows as what it is, and cannot turn around the text beside it.
export function Name({ children }: { children: string | undefined }) {
  return <bdi>{shown(children)}</bdi>;
}

export function JobLink({ id, name }: { id: string | undefined; name?: string }) {
  return (
    <a href={href(["job", id ?? ""])} className="id">
      {shown(id)}
      {name ? <span className="weak"> <Name>{name}</Name></span> : null}
    </a>
  );
}

export function OwnerLink({ account, user }: { account?: string; user?: string }) {
  return (
    <a href={teamHref(account, user)}>
      <Name>{owner(account, user)}</Name>
    </a>
  );
}

export function NodeLink({ name }: { name: string }) {
  return (
    <a href={href(["fleet"], { node: name })}>
      <Name>{name}</Name>
    </a>
  );
}

const JOB_ID = /^\d+-\d+$/;

// Jobs or nodes that prevent a start, as links.
export function Blockers({ reason }: { reason: WaitReason }) {
  if (!reason.blockers?.length) return null;
  return (
    <span className="blockers">
      In the way:{" "}
      {reason.blockers.map((name, i) => (
        <span key={name}>
          {i ? ", " : ""}
          {JOB_ID.test(name) ? <JobLink id={name} /> : <NodeLink name={name} />}
        </span>
      ))}
    </span>
  );
}

export function State({ job }: { job: Job }) {
  const state = word(job.state, "JOB_STATE_");
  const cause = word(job.cause, "CAUSE_");
  return (
    <span className={"state " + state}>
      {state}
      {cause && (state === "done" || state === "ending") ? `: ${cause}` : ""}
    </span>
  );
}

// The start estimate of a waiting job in one line, and its interval in a second one.
export function Start(props: { start?: ExpectedStart; none?: string; now: number }) {
  const { start, none, now } = props;
  if (!start) return <span className="weak">{none ? shown(none) : "–"}</span>;
  const expected = instant(start.expected);
  const earliest = instant(start.earliest);
  const latest = instant(start.latest);
  return (
    <span title={shown(start.assumption)}>
      {expected === undefined ? "beyond the forecast" : relative(Math.max(expected, now), now)}{" "}
      <span className={"tag " + (start.promised ? "promised" : "forecast")}>
        {start.promised ? "promised" : "forecast"}
      </span>
      <small>
        {earliest === undefined ? "" : time(earliest, now).replace(" UTC", "")}
        {latest === undefined ? (earliest ? " or later" : "") : ` to ${time(latest, now)}`}
      </small>
    </span>
  );
}

// A bar of parts that add up to `whole`. The text beside it has the figures.
export function Bar(props: { parts: { className: string; value: number }[]; whole: number }) {
  const whole = Math.max(props.whole, 1e-9);
  return (
    <span className="bar" aria-hidden="true">
      {props.parts.map((part) => (
        <span
          key={part.className}
          className={part.className}
          style={{ width: `${Math.min(100, (100 * part.value) / whole)}%` }}
        />
      ))}
    </span>
  );
}

export function Facts({ rows }: { rows: [string, ReactNode][] }) {
  const known = rows.filter(([, value]) => value !== undefined && value !== "" && value !== null);
  return (
    <dl className="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Gpus({ milligpu }: { milligpu: string | number | undefined }) {
  return <>{int(milligpu) === 1000 ? "1 GPU" : `${gpus(milligpu)} GPUs`}</>;
}

// The command that prints the same, with a button that copies it.
export function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard?.writeText(text).then(() => setCopied(true));
    window.setTimeout(() => setCopied(false), 2000);
  };
  return (
    <span className="command">
      <code>{text}</code>
      <button type="button" onClick={copy} aria-label={`Copy the command ${text}`}>
        {copied ? "copied" : "copy"}
      </button>
    </span>
  );
}

// Returns what the page knows of its connection, and follows it.
export const useLink = () => useSyncExternalStore(onLink, linkNow);

// Returns the time that a view shows as now: that of the earlier moment that it has read, or the browser's.
export function useNow(read?: Read<unknown>): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 1000);
    return () => window.clearInterval(timer);
  }, []);
  return read?.moment ?? now;
}

export function useMedia(query: string): boolean {
  const media = useRef<MediaQueryList>();
  media.current ??= window.matchMedia(query);
  return useSyncExternalStore(
    (changed) => {
      media.current?.addEventListener("change", changed);
      return () => media.current?.removeEventListener("change", changed);
    },
    () => media.current?.matches ?? false,
  );
}

// Returns the page of the service that exchanges a token for a session, and then leads back here.
const signInHref = () => "/login?to=" + encodeURIComponent(window.location.pathname + window.location.search);

// Returns the text as a sentence that another one may follow.
const sentence = (text: string) => (/[.!?]$/.test(text) ? text : text + ".");

function Problem({ error, old }: { error: CallError; old: boolean }) {
  const away = error.code === "unreachable" || error.code === "unavailable";
  const signedOut = error.code === "unauthenticated";
  return (
    <p className="problem" role="alert">
      {signedOut ? "You are not signed in, or your session has ended." : sentence(shown(error.message))}
      {old ? " The figures below are old." : ""}
      {signedOut ? <> <a href={signInHref()}>Sign in</a></> : null}
      {away ? " The page tries again every few seconds." : ""}
    </p>
  );
}

const OLD_MS = 15_000; // a view that is not read again for so long says so

function AsOf({ read, at, once }: { read: Read<unknown>; at?: string; once?: boolean }) {
  const live = useSyncExternalStore(onLiveState, liveState);
  const { lostAt, replica } = useLink();
  const now = useNow();
  const behind = (read.moment === undefined && replica?.behindMs) || 0;
  const ms = read.moment ?? (instant(at) ?? read.at ?? NaN) - behind;
  if (Number.isNaN(ms)) return <span>Reading …</span>;
  const age = now - (read.at ?? now);
  const how = age > OLD_MS ? `read ${relative(now - age, now)}` : live === "live" ? "live" : "read every 5 s";
  return (
    <span>
      As of <time dateTime={new Date(ms).toISOString()}>{`${day(ms)} ${clock(ms)} UTC`}</time>
      {read.sequence === undefined ? "" : `, fact ${read.sequence}`}
      {once || read.moment !== undefined ? "" : `, ${lostAt === undefined ? how : "not current"}`}
    </span>
  );
}

// The frame of a view: its title, of when it is, the command that prints the same, and any problem.
export function View(props: {
  title: ReactNode;
  name: string;
  read: Read<unknown>;
  at?: string;
  // True: the view does not read again by itself.
  once?: boolean;
  command: string;
  children: ReactNode;
}) {
  const { read } = props;
  const at = momentOf();
  useEffect(() => {
    document.title = `${props.name} · Subak`;
  }, [props.name]);
  return (
    <>
      <div className="view-head">
        <h1 tabIndex={-1}>{props.title}</h1>
        <p className="as-of">
          <AsOf read={read} at={props.at} once={props.once} />
          <Command text={props.command + (at ? ` --at ${at}` : "")} />
        </p>
      </div>
      <MomentBar at={at} read={read} />
      {read.error ? <Problem error={read.error} old={read.value !== undefined} /> : null}
      {props.children}
    </>
  );
}
