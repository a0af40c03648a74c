// Says when to read again. All tabs of a browser share one stream of events; where there is no
// stream, each tab reads every five seconds.
import { isLost, onLink, reached, silent } from "./link";

type Listener = () => void;
// `forced`: a person asked for it.
type NewsListener = (forced: boolean) => void;

export type LiveState = "live" | "polling";

const POLL_MS = 5000;
const LEAST_MS = 1000;
const TOPIC = "sequence"; // the number of the last fact: any change of the state

const listeners = new Set<NewsListener>();
const stateListeners = new Set<Listener>();
let state: LiveState = "polling";
let lastTell = 0;
let pending: number | undefined;
let poll: number | undefined;

function setState(next: LiveState): void {
  if (state === next) return;
  state = next;
  for (const listener of stateListeners) listener();
}

// Tells the views to read again: at most once a second, and only in a tab that a person sees.
function tell(): void {
  if (pending !== undefined || document.hidden) return;
  const wait = Math.max(0, lastTell + LEAST_MS - Date.now());
  pending = window.setTimeout(() => {
    pending = undefined;
    lastTell = Date.now();
    for (const listener of [...listeners]) listener(false);
  }, wait);
}

function keepPolling(): void {
  window.clearInterval(poll);
  poll = window.setInterval(() => {
    if (Date.now() - lastTell >= POLL_MS - 100) tell();
  }, POLL_MS);
}

function heard(): void {
  setState("live");
  tell();
}

// A stream that worked has ended: the views read at once, which shows whether the service answers.
function broken(): void {
  setState("polling");
  silent();
  tell();
}

// Follows the stream until it fails for good. The browser itself comes back after a broken
// connection. If calls find that the service does not answer, the stream is dead too.
function follow(channel: BroadcastChannel | undefined): Promise<void> {
  return new Promise((done) => {
    const source = new EventSource("/live?topics=" + TOPIC);
    let isOpen = false;
    const end = () => {
      stop();
      source.close();
      done();
    };
    const lost = () => {
      setState("polling");
      if (!isOpen) return;
      isOpen = false;
      channel?.postMessage("lost");
      broken();
    };
    const stop = onLink(() => {
      if (!isLost() || !isOpen) return;
      lost();
      end();
    });
    const news = () => {
      channel?.postMessage("news");
      heard();
    };
    for (const name of [TOPIC, "reset"]) source.addEventListener(name, news);
    source.onopen = () => {
      isOpen = true;
      reached();
    };
    source.onerror = () => {
      lost();
      if (source.readyState === EventSource.CLOSED) end();
    };
  });
}

// The views read as soon as the service answers again.
function readAfterLoss(): void {
  let wasLost = false;
  onLink(() => {
    if (wasLost && !isLost()) tell();
    wasLost = isLost();
  });
}

export function startLive(): void {
  keepPolling();
  readAfterLoss();
  document.addEventListener("visibilitychange", () => tell());
  const channel = "BroadcastChannel" in window ? new BroadcastChannel("subak-live") : undefined;
  if (channel) {
    channel.onmessage = (event) => (event.data === "news" ? heard() : broken());
  }
  const again = async () => {
    await follow(channel);
    window.setTimeout(lead, isLost() ? POLL_MS : 6 * POLL_MS);
  };
  // One tab holds the lock and the stream. If it closes, another tab gets both.
  const lead = () => {
    if (navigator.locks) void navigator.locks.request("subak-live", again);
    else void again();
  };
  lead();
}

export function onNews(listener: NewsListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function onLiveState(listener: Listener): () => void {
  stateListeners.add(listener);
  return () => stateListeners.delete(listener);
}

export const liveState = (): LiveState => state;

export const readNow = (): void => {
  for (const listener of [...listeners]) listener(true);
};
