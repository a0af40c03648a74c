// A table of any length. It has elements only for the rows that are in sight.
import { KeyboardEvent, ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useMedia } from "./parts";

export interface Column<R> {
  title: string;
  cell: (row: R) => ReactNode;
  // The width as a track of a CSS grid.
  width: string;
  number?: boolean;
  // Where the cell is on a narrow screen. Unset: it is left out there.
  phone?: "left" | "right" | "full";
}

export const PHONE = "(max-width: 640px)";
const BEYOND = 6; // rows above and below those in sight

interface Props<R> {
  label: string;
  rows: R[];
  columns: Column<R>[];
  rowKey: (row: R, index: number) => string;
  rowClass?: (row: R) => string;
  // The heights of a row in pixels, on a wide and on a narrow screen.
  height: number;
  phoneHeight?: number;
  // The number of all rows, if more rows exist than were read.
  total?: number;
  // Called when the last rows come in sight.
  onEnd?: () => void;
  empty: string;
  // The most rows in sight at once. Unset: as many as the window has room for.
  most?: number;
  // The row to bring into sight.
  at?: number;
}

function useSight(box: React.RefObject<HTMLDivElement>, height: number, count: number) {
  const [sight, setSight] = useState({ from: 0, to: 30 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const look = () => {
      const from = Math.max(0, Math.floor(element.scrollTop / height) - BEYOND);
      const to = Math.ceil((element.scrollTop + element.clientHeight) / height) + BEYOND;
      setSight((old) => (old.from === from && old.to === to ? old : { from, to }));
    };
    look();
    element.addEventListener("scroll", look, { passive: true });
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      watcher.disconnect();
    };
  }, [box, height, count]);
  return sight;
}

// Moves the focus to the first link of a row, which may have to come into sight first.
function focusRow(box: HTMLDivElement, index: number, height: number, done: () => void): void {
  const top = index * height;
  const head = 40;
  if (top < box.scrollTop) box.scrollTop = top;
  if (top + height + head > box.scrollTop + box.clientHeight) {
    box.scrollTop = top + height + head - box.clientHeight;
  }
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const row = box.querySelector<HTMLElement>(`[aria-rowindex="${index + 2}"]`);
      (row?.querySelector<HTMLElement>("a, button") ?? row)?.focus({ preventScroll: true });
      done();
    }),
  );
}

const STEPS: { [key: string]: number } = {
  ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9,
};

function useKeys(box: React.RefObject<HTMLDivElement>, height: number, count: number) {
  const wanted = useRef<number>(); // the row that gets the focus in the next frame
  return (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || !box.current) return;
    if (event.target instanceof HTMLInputElement || count === 0) return;
    const row = (event.target as HTMLElement).closest("[aria-rowindex]");
    const focused = row ? Number(row.getAttribute("aria-rowindex")) - 2 : step > 0 ? -1 : 0;
    const next = Math.max(0, Math.min(count - 1, (wanted.current ?? focused) + step));
    event.preventDefault();
    event.stopPropagation();
    wanted.current = next;
    focusRow(box.current, next, height, () => {
      if (wanted.current === next) wanted.current = undefined;
    });
  };
}

function Head<R>({ columns }: { columns: Column<R>[] }) {
  return (
    <div role="row" className="tr th" aria-rowindex={1} style={{ gridTemplateColumns: tracks(columns) }}>
      {columns.map((column) => (
        <span role="columnheader" key={column.title} className={column.number ? "number" : ""}>
          {column.title}
        </span>
      ))}
    </div>
  );
}

const tracks = <R,>(columns: Column<R>[]) => columns.map((column) => column.width).join(" ");

function Row<R>(props: {
  row: R; index: number; columns: Column<R>[]; height: number; phone: boolean; className: string;
}) {
  const { columns, phone } = props;
  return (
    <div
      role="row"
      className={"tr " + props.className}
      aria-rowindex={props.index + 2}
      tabIndex={-1}
      style={{
        top: props.index * props.height,
        height: props.height,
        gridTemplateColumns: phone ? undefined : tracks(columns),
      }}
    >
      {columns
        .filter((column) => !phone || column.phone)
        .map((column) => (
          <span
            role="cell"
            key={column.title}
            className={(phone ? `at-${column.phone}` : column.number ? "number" : "") + " td"}
          >
            {column.cell(props.row)}
          </span>
        ))}
    </div>
  );
}

export function Table<R>(props: Props<R>) {
  const { rows, columns } = props;
  const phone = useMedia(PHONE);
  const height = phone ? (props.phoneHeight ?? props.height) : props.height;
  const box = useRef<HTMLDivElement>(null);
  const sight = useSight(box, height, rows.length);
  const keys = useKeys(box, height, rows.length);
  const { onEnd, at } = props;
  const last = sight.to >= rows.length;
  useEffect(() => {
    if (last && rows.length) onEnd?.();
  }, [last, rows.length, onEnd]);
  useEffect(() => {
    if (at !== undefined && at >= 0 && box.current) box.current.scrollTop = at * height - 80;
  }, [at, height]);
  const total = Math.max(props.total ?? 0, rows.length);
  return (
    <div
      className={"table" + (phone ? " phone" : "")}
      ref={box}
      tabIndex={0}
      role="region"
      aria-label={props.label}
      onKeyDown={keys}
      style={props.most ? { maxHeight: (props.most + 1) * height } : undefined}
    >
      <div role="table" aria-label={props.label} aria-rowcount={total + 1}>
        <div role="rowgroup" className={phone ? "unseen" : "thead"}>
          <Head columns={phone ? columns.filter((column) => column.phone) : columns} />
        </div>
        <div role="rowgroup" className="tbody" style={{ height: rows.length * height }}>
          {rows.slice(sight.from, sight.to).map((row, i) => (
            <Row
              key={props.rowKey(row, sight.from + i)}
              row={row}
              index={sight.from + i}
              columns={columns}
              height={height}
              phone={phone}
              className={props.rowClass?.(row) ?? ""}
            />
          ))}
        </div>
      </div>
      {rows.length === 0 ? <p className="empty">{props.empty}</p> : null}
    </div>
  );
}
