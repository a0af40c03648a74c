// Reads what a view shows, and reads it again when the service has news.
import { useEffect, useRef, useState } from "react";
import { Answer, CallError, receivedInAll } from "./call";
import { onNews } from "./live";
import { useRoute } from "./route";

export interface Read<T> {
  // The last good answer. It stays while a later read fails.
  value?: T;
  sequence?: number;
  // The earlier moment that the answer shows. Unset: it shows the present.
  moment?: number;
  // When the answer came, by the browser's clock.
  at?: number;
  // Why the last read failed. Unset: it succeeded.
  error?: CallError;
}

function asError(error: unknown): CallError {
  return error instanceof CallError ? error : new CallError("internal", String(error));
}

// The most that a view reads in a second, on average: after a large answer it waits longer.
const LETTERS_PER_MS = 150;

// Calls `load` now, whenever `subject` or the moment of the address changes, and (with `wantsNews`) when there is
// news. An earlier moment has no news. While one read runs, no other begins; news meanwhile leads to one
// more read.
export function useRead<T>(
  subject: string,
  load: (signal: AbortSignal) => Promise<Answer<T>>,
  wantsNews = true,
): Read<T> {
  const at = useRoute().query.get("at") ?? "";
  const key = `${subject} @${at}`;
  const live = wantsNews && !at;
  const [read, setRead] = useState<{ key: string; read: Read<T> }>({ key, read: {} });
  const loader = useRef(load);
  loader.current = load;
  useEffect(() => {
    const ended = new AbortController();
    let busy = false;
    let again = false;
    let notBefore = 0;
    let timer: number | undefined;
    const run = async (forced = false) => {
      if (busy) {
        again = true;
        return;
      }
      const wait = notBefore - Date.now();
      if (!forced && wait > 0) {
        timer ??= window.setTimeout(() => void run(true), wait);
        return;
      }
      window.clearTimeout(timer);
      timer = undefined;
      busy = true;
      const begin = Date.now();
      const before = receivedInAll();
      try {
        const answer = await loader.current(ended.signal);
        if (ended.signal.aborted) return;
        setRead({ key, read: { ...answer, at: Date.now() } });
      } catch (error) {
        if (ended.signal.aborted) return;
        setRead((old) => ({
          key,
          read: { ...(old.key === key ? old.read : {}), error: asError(error) },
        }));
      } finally {
        busy = false;
        notBefore = begin + (receivedInAll() - before) / LETTERS_PER_MS;
      }
      if (again && !ended.signal.aborted) {
        again = false;
        void run();
      }
    };
    void run();
    const stop = live ? onNews((forced) => void run(forced)) : () => undefined;
    return () => {
      stop();
      window.clearTimeout(timer);
      ended.abort();
    };
  }, [key, live]);
  return read.key === key ? read.read : {};
}
