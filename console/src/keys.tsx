// Keys of the whole console, and the list of them.
import { KeyboardEvent as FocusKeyEvent, useEffect, useRef, useState } from "react";

export type KeyHandlers = { [keys: string]: () => void };

// Returns the handler of an element that has the focus: it calls the action of a key. Keys with Ctrl,
// Meta or Alt are the browser's.
export function onKeys(actions: KeyHandlers) {
  return (event: FocusKeyEvent) => {
    const act = actions[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
}

const LIST: [string, string][] = [
  ["/", "search for a job, an account, a user or a node"],
  ["?", "this list"],
  ["g o", "overview"],
  ["g q", "queue"],
  ["g f", "fleet"],
  ["g p", "plan"],
  ["g t", "teams"],
  ["g a", "audit"],
  ["j, k or arrows", "next and previous row of a table; Enter opens it"],
  ["Page Up, Page Down, Home, End", "ten rows, the first and the last row"],
  ["a", "in a job: find changes that would start it sooner"],
  ["+, −, arrows, 0", "in the map and the plan: nearer, farther, move, all of it"],
  ["j, k, Page Down, Page Up", "in the map: the next or previous GPU or node; Enter opens its job"],
  ["m", "show an earlier moment"],
  ["r", "read again now"],
  ["c", "colours: as the system has them, light or dark"],
  ["Esc", "close this list, or leave the search"],
];

const OFF = "subak-no-letters";
const TOGETHER_MS = 1200;

export const lettersOff = (): boolean => window.localStorage.getItem(OFF) === "1";

function typing(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  return /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

// Calls the handler of a key, or of two keys in a row ("g q"). The handlers may differ at each
// render.
export function useKeyboard(handlers: KeyHandlers): void {
  const now = useRef(handlers);
  now.current = handlers;
  useEffect(() => {
    let before = "";
    let at = 0;
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event)) return;
      if (lettersOff() || document.querySelector("dialog[open]")) return;
      const both = Date.now() - at < TOGETHER_MS ? `${before} ${event.key}` : "";
      const handler = now.current[both] ?? now.current[event.key];
      before = event.key;
      at = Date.now();
      if (!handler) return;
      event.preventDefault();
      before = "";
      handler();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [off, setOff] = useState(lettersOff());
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const change = () => {
    window.localStorage.setItem(OFF, off ? "0" : "1");
    setOff(!off);
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <table className="plain">
        <tbody>
          {LIST.map(([keys, what]) => (
            <tr key={keys}>
              <th scope="row"><kbd>{keys}</kbd></th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <label>
          <input type="checkbox" checked={off} onChange={change} /> Turn off keys of single letters
        </label>
      </p>
      <p>
        <button type="button" onClick={() => dialog.current?.close()}>Close</button>
      </p>
    </dialog>
  );
}
