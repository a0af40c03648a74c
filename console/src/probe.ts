// Asks for the status of the service while no view reads, so that the page knows whether its figures are
// current and who leads. The figures of an earlier moment stay current.
import { CallError, call, giveUp } from "./call";
import { isLost, lastAnswerAt, linkNow, silent, statusSays, wantsLeader } from "./link";
import { momentOf } from "./route";
import { int } from "./text";

const LOOK_MS = 1000;
const QUIET_MS = 5000; // without any answer for so long, the page asks
const AWAY_MS = 2000; // the same while the connection is lost
const PATIENCE_MS = 10_000; // an answer that takes longer does not come

async function ask(): Promise<void> {
  const began = Date.now();
  const ended = new AbortController();
  const timer = window.setTimeout(() => ended.abort(), PATIENCE_MS);
  try {
    const { value } = await call("AdminService/GetStatus", {}, ended.signal, "");
    statusSays(value.leaderName ?? "", int(value.epoch));
  } catch (error) {
    if (error instanceof CallError) return; // call() has reported it
    silent(began);
    giveUp();
  } finally {
    window.clearTimeout(timer);
  }
}

export function startProbe(): void {
  let asks = false;
  let askedAt = 0;
  window.setInterval(() => {
    if (asks || document.hidden || (momentOf() && !isLost())) return;
    const now = Date.now();
    const quiet = now - Math.max(lastAnswerAt(), askedAt) >= (isLost() ? AWAY_MS : QUIET_MS);
    const curious = wantsLeader(linkNow()) && now - askedAt >= AWAY_MS;
    const standby = linkNow().replica?.leads === false && now - askedAt >= QUIET_MS;
    if (!(quiet || curious || standby)) return;
    asks = true;
    askedAt = now;
    void ask().finally(() => (asks = false));
  }, LOOK_MS);
}
