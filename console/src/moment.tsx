// The earlier moment that a view shows: what says so, and the choice of a moment.
import { FormEvent, useEffect, useRef, useState } from "react";
import type { Read } from "./read";
import { go, href, momentOf, Route } from "./route";
import { clock, day, isoText, momentFrom, shown } from "./text";

const STEPS: [number, string][] = [
  [-3_600_000, "1 h earlier"], [-600_000, "10 min earlier"], [600_000, "10 min later"], [3_600_000, "1 h later"],
];

// The event by which a button of a view asks for the choice of a moment. The shell shows the choice.
const ASK = "subak-moment";
export const askForMoment = (): void => void window.dispatchEvent(new Event(ASK));

// Calls `open` when a view asks for the choice.
export function useMomentAsked(open: () => void): void {
  useEffect(() => {
    window.addEventListener(ASK, open);
    return () => window.removeEventListener(ASK, open);
  });
}

// Returns the address of the present view at another moment; "": at the present.
function hereAt(at: string): string {
  const parts = window.location.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  return href(parts, { ...Object.fromEntries(new URLSearchParams(window.location.search)), at });
}

// Says that the view is of an earlier moment, and leads to moments near it and to the present.
export function MomentBar({ at, read }: { at: string; read: Read<unknown> }) {
  if (!at) return null;
  const ms = read.moment;
  const to = (step: number) => (ms === undefined || ms + step >= Date.now() ? "" : isoText(ms + step));
  return (
    <div className="moment" role="status">
      <p>
        <b>An earlier moment:</b>{" "}
        {ms === undefined ? shown(at) : `as of ${day(ms)} ${clock(ms)} UTC`}
        {read.sequence === undefined ? "" : `, fact ${read.sequence}`}.{" "}
        <a href={hereAt("")}>Back to the present</a>
      </p>
      <p className="steps">
        {ms === undefined ? null : STEPS.map(([step, text]) => <a key={step} href={hereAt(to(step))}>{text}</a>)}
        <button type="button" onClick={askForMoment}>Other moment</button>
      </p>
    </div>
  );
}

// In place of a view that the service shows only at the present.
export function OnlyPresent({ route, name }: { route: Route; name: string }) {
  const query = { ...Object.fromEntries(route.query), at: "" };
  return (
    <>
      <h1 tabIndex={-1}>{name}</h1>
      <p className="problem" role="alert">
        This view cannot be shown at an earlier moment.{" "}
        <a href={href(route.path, query)}>Show it at the present</a>
      </p>
    </>
  );
}

// The choice of a moment.
export function MomentChoice({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState(momentOf());
  const [wrong, setWrong] = useState(false);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const choose = (event: FormEvent) => {
    event.preventDefault();
    const at = momentFrom(text, Date.now());
    setWrong(at === undefined);
    if (at === undefined) return;
    dialog.current?.close();
    go(hereAt(at));
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="moment-title">
      <h2 id="moment-title">Show an earlier moment</h2>
      <form onSubmit={choose}>
        <p>
          <label htmlFor="moment">A time in UTC, a length of time before now, or a fact</label>
          <input
            id="moment"
            autoFocus
            value={text}
            placeholder="2026-03-01 12:00"
            aria-describedby="moment-forms"
            aria-invalid={wrong}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => setText(event.target.value)}
          />
        </p>
        <p id="moment-forms" className={wrong ? "problem" : "weak"} role={wrong ? "alert" : undefined}>
          Type a time as “2026-03-01 12:00” or “12:00”, “2h” for two hours ago, or the number of a fact.
        </p>
        <p>
          <button type="submit">Show</button>{" "}
          <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>{" "}
          {momentOf() ? <a href={hereAt("")} onClick={() => dialog.current?.close()}>Back to the present</a> : null}
        </p>
      </form>
    </dialog>
  );
}
