// What the page knows of its connection to the service, and of the replica that answers.
import { clock, count } from "./text";

// The replica that gave an answer, by the headers of the answer.
export interface Replica {
  leads: boolean;
  // The number of the leadership that the replica knows.
  epoch: number;
  // How long ago its state last had all facts of the store. Unset: its state is current, or unknown.
  behindMs?: number;
}

export interface Link {
  // Since when no answer comes, by the browser's clock. Unset: answers come.
  lostAt?: number;
  // The last interruption that is over.
  gap?: { from: number; to: number };
  // The replica whose answers the page shows, and when it answered. Unset: one process has the store.
  replica?: Replica & { at: number };
  // When the page saw the last change of the leader.
  changedAt?: number;
  // The leader's name in the epoch. "": there is no leader.
  leader?: { name: string; epoch: number };
}

// A standby's answer counts for so long, although the leader answers too: a Service of Kubernetes spreads
// the connections of a page over all replicas.
const MIXED_MS = 7000;
// For so long the page tells of what is over: an interruption, or a change of the leader.
const NEWS_MS = 60_000;

// Returns the replica that the headers of an answer name. Undefined: they name none.
export function replicaOf(headers: Headers): Replica | undefined {
  const leads = headers.get("subak-leads");
  if (leads === null) return undefined;
  const behind = headers.get("subak-behind-ms");
  const behindMs = behind === null ? undefined : Number(behind);
  return { leads: leads === "yes", epoch: Number(headers.get("subak-epoch")), behindMs };
}

// Returns the link after an answer or a refusal.
export function afterReply(link: Link, now: number): Link {
  const { lostAt, ...next } = link;
  return lostAt === undefined ? link : { ...next, gap: { from: lostAt, to: now } };
}

// Returns the link after an answer. A replica that knows only an earlier leadership does not lead.
export function afterAnswer(link: Link, now: number, replica: Replica | undefined): Link {
  const next = afterReply(link, now);
  if (!replica) return { ...next, replica };
  const old = link.replica;
  const epoch = Math.max(replica.epoch, old?.epoch ?? 0);
  const leads = replica.leads && replica.epoch === epoch;
  const changedAt = old && epoch > old.epoch ? now : link.changedAt;
  const isMixed = old && leads && !old.leads && old.epoch === epoch && now - old.at < MIXED_MS;
  return { ...next, changedAt, replica: isMixed ? old : { ...replica, leads, epoch, at: now } };
}

// Returns the link after a call since `since` got no answer, or after the stream of events broke then.
export const afterSilence = (link: Link, since: number): Link => ({ ...link, lostAt: link.lostAt ?? since });

// Returns the link after an answer of GetStatus. Only a replica that knows the present leadership counts.
export const afterStatus = (link: Link, name: string, epoch: number): Link =>
  epoch === link.replica?.epoch ? { ...link, leader: { name, epoch } } : link;

// True if the page does not know who leads.
export const wantsLeader = (link: Link): boolean =>
  link.replica !== undefined && link.replica.epoch !== link.leader?.epoch;

const utc = (ms: number) => `${clock(ms)} UTC`;

// Returns what a reader must know at `now`. Empty: the figures are current, and nothing happened of late.
// `isPast`: the view shows an earlier moment, which each replica shows alike and which does not grow old.
export function linkNews(link: Link, now: number, isPast: boolean): string[] {
  const { lostAt, gap, replica, changedAt } = link;
  const isRecent = (at: number | undefined): at is number => at !== undefined && now - at < NEWS_MS;
  const name = link.leader?.epoch === replica?.epoch ? link.leader?.name : undefined;
  const out: string[] = [];
  if (lostAt !== undefined) {
    out.push(`Connection lost at ${utc(lostAt)}.${isPast ? "" : " The figures are old."} The page tries again.`);
  } else if (isRecent(gap?.to)) {
    out.push(`The connection was lost at ${utc(gap!.from)} and came back at ${utc(gap!.to)}.`);
  }
  if (isPast) return out;
  if (isRecent(changedAt)) out.push(`Leader changed: ${name || "another replica"} leads since ${utc(changedAt)}.`);
  if (lostAt !== undefined || !replica) return out;
  if (!replica.leads) {
    const other = name === undefined ? "" : name ? `; ${name} does` : ", and it knows of no leader";
    out.push(`This replica does not lead${other}.`);
  } else if (replica.behindMs !== undefined) out.push("The leader cannot reach its database.");
  return out;
}

// Returns in words how old the figures of the present are at `now`. "": they are current, or no answer comes.
export function ageNews(link: Link, now: number): string {
  const { lostAt, replica } = link;
  if (lostAt !== undefined || !replica) return "";
  if (replica.behindMs === undefined) return replica.leads ? "" : "Its figures may be old.";
  const ms = replica.behindMs + Math.max(0, now - replica.at);
  return `Its figures are ${count(Math.ceil(ms / 1000))} s old.`;
}

let link: Link = {};
let answeredAt = 0;
const listeners = new Set<() => void>();

function set(next: Link): void {
  link = next;
  for (const listener of [...listeners]) listener();
}

// Calls and the stream of events report what they learn.
export function reached(): void {
  answeredAt = Date.now();
  set(afterReply(link, answeredAt));
}
export function answered(replica: Replica | undefined): void {
  answeredAt = Date.now();
  set(afterAnswer(link, answeredAt, replica));
}
export const silent = (since = Date.now()): void => set(afterSilence(link, since));
export const statusSays = (name: string, epoch: number): void => set(afterStatus(link, name, epoch));

export const linkNow = (): Link => link;
export const isLost = (): boolean => link.lostAt !== undefined;
// Returns when the last answer came; 0: none came.
export const lastAnswerAt = (): number => answeredAt;

export function onLink(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
