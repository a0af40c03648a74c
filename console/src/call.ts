// Calls of the service: POST /subak.v1.SERVICE/METHOD with proto3 JSON, as Connect's unary calls.
import type { Methods } from "subak-api";
import { answered, reached, replicaOf, silent } from "./link";
import { momentOf } from "./route";

// An answer, and the number of the last fact that it includes. `moment`: the earlier moment that it
// shows, in ms since 1970.
export interface Answer<T> {
  value: T;
  sequence: number | undefined;
  moment?: number;
}

// A refusal by the service, or a call that did not reach it.
export class CallError extends Error {
  // Connect's code, such as "not_found"; "unreachable" if no answer came.
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

let received = 0;

// Returns how many letters of answers came since the page was opened.
export const receivedInAll = (): number => received;

function problem(reply: Response, text: string): CallError {
  try {
    const body = JSON.parse(text) as { code?: string; message?: string };
    return new CallError(body.code ?? String(reply.status), body.message ?? text);
  } catch {
    const code = reply.status === 401 ? "unauthenticated" : String(reply.status);
    return new CallError(code, text.trim() || reply.statusText);
  }
}

// Proxies answer with these if they do not reach the service.
const NO_SERVICE = new Set(["502", "503", "504"]);

const inFlight = new Set<AbortController>();

// Ends all calls in flight as unreachable: their connections are dead.
export function giveUp(): void {
  for (const one of [...inFlight]) one.abort();
}

interface Reply {
  reply: Response;
  text: string;
}

async function post(method: string, request: unknown, at: string, signal?: AbortSignal): Promise<Reply> {
  const ended = new AbortController();
  const end = () => ended.abort();
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end);
  inFlight.add(ended);
  try {
    const reply = await fetch("/subak.v1." + method, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Connect-Protocol-Version": "1", ...(at ? { "Subak-At": at } : {}) },
      body: JSON.stringify(request),
      credentials: "same-origin",
      signal: ended.signal,
    });
    return { reply, text: await reply.text() };
  } catch (error) {
    if (signal?.aborted) throw error;
    silent();
    throw new CallError("unreachable", "The service does not answer.");
  } finally {
    signal?.removeEventListener("abort", end);
    inFlight.delete(ended);
  }
}

// `at`: the earlier moment to show; "": the present.
export async function call<M extends keyof Methods>(
  method: M,
  request: Methods[M][0],
  signal?: AbortSignal,
  at = momentOf(),
): Promise<Answer<Methods[M][1]>> {
  const { reply, text } = await post(method, request, at, signal);
  if (!reply.ok) {
    const refusal = problem(reply, text);
    if (NO_SERVICE.has(refusal.code)) silent();
    else reached();
    throw refusal;
  }
  answered(replicaOf(reply.headers));
  const sequence = reply.headers.get("subak-sequence");
  const moment = reply.headers.get("subak-time");
  received += text.length;
  return {
    value: JSON.parse(text) as Methods[M][1],
    sequence: sequence === null ? undefined : Number(sequence),
    moment: moment === null ? undefined : Number(moment),
  };
}

type Paged<T> = { nextPageToken?: string } & T;

// Reads all pages, up to `most` rows. Calls `more` with each page.
export async function pages<M extends keyof Methods>(
  method: M,
  request: Methods[M][0] & { pageSize?: number; pageToken?: string },
  most: number,
  rows: (page: Methods[M][1]) => unknown[] | undefined,
  signal?: AbortSignal,
  at = momentOf(),
): Promise<Answer<{ all: Methods[M][1][]; more: boolean }>> {
  const all: Methods[M][1][] = [];
  let token = "";
  let had = 0;
  let sequence: number | undefined;
  let moment: number | undefined;
  do {
    const answer = await call(method, { ...request, pageToken: token }, signal, at);
    all.push(answer.value);
    had += rows(answer.value)?.length ?? 0;
    sequence ??= answer.sequence;
    moment ??= answer.moment;
    token = (answer.value as Paged<Methods[M][1]>).nextPageToken ?? "";
  } while (token && had < most);
  return { value: { all, more: token !== "" }, sequence, moment };
}
