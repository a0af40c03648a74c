// The map of the fleet: moved and zoomed by mouse, touch or keys.
import { PointerEvent, ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Size, useCanvas } from "../canvas";
import { useColour } from "../colours";
import { Colouring, COLOURINGS, gpusText, legendOf, stateText } from "../fleet_colours";
import { bandsOf, Camera, drawFleet, fit, zoomAt } from "../fleet_draw";
import { cellName, Fleet, MapNode, Part, partsOf } from "../fleet_map";
import { buildFleet, cellAt, Group, hit, Leaf, leavesOf } from "../fleet_model";
import { onKeys } from "../keys";
import { JobLink, OwnerLink } from "../parts";
import { go, href } from "../route";
import { gpus, plural, shown, time } from "../text";

interface Props {
  fleets: Fleet[];
  chosen: string;
  colouring: Colouring;
  choose: (name: string) => void;
  colourBy: (colouring: Colouring) => void;
}

const STEP = 60; // pixels that an arrow key moves the map
const CURSOR_SCALE = 2; // the nearest that the cursor of the keys brings the map

export function nodeSentence(node: MapNode): string {
  const parts = [`${shown(node.name)}: ${gpus(node.held)} of ${gpus(node.gpus * 1000)} GPUs in use`];
  if (node.closed) parts.push(`${gpus(node.closed)} not usable`);
  if (node.condition) parts.push(shown(node.condition));
  return parts.join(", ");
}

// A part of a cell in words, with links to its job and account.
function PartWords({ part, fleet, whole }: { part: Part; fleet: Fleet; whole: boolean }) {
  const { job } = part;
  const amount = whole ? "" : ` ${gpus(part.milligpu)}`;
  return (
    <>
      {stateText(part.state)}{amount}
      {job ? (
        <>
          {" "}<JobLink id={job.id} />{job.owner.account ? <> of <OwnerLink {...job.owner} /></> : " without an account"}
          {job.end ? `, until ${time(job.end, fleet.time)}` : ""}
        </>
      ) : null}
    </>
  );
}

function CellWords({ leaf, cell }: { leaf: Leaf; cell: number }) {
  const parts = partsOf(leaf.fleet, cell);
  return (
    <>
      {shown(leaf.node.name)}, {cellName(leaf.node, cell)}:{" "}
      {parts.map((part, i) => (
        <span key={i}>{i ? "; " : ""}<PartWords part={part} fleet={leaf.fleet} whole={parts.length === 1} /></span>
      ))}
      {leaf.node.condition ? `. The node is ${shown(leaf.node.condition)}` : ""}
    </>
  );
}

function wordsOf(path: (Group | Leaf)[], cell: number | undefined): ReactNode {
  const last = path[path.length - 1];
  if (!last) return "";
  if (last.kind === "node") return cell === undefined ? nodeSentence(last.node) : <CellWords leaf={last} cell={cell} />;
  return `${last.level} ${shown(last.name)}: ${plural(last.nodes, "node")}, ${gpus(last.held)} of ${gpus(last.installed)} GPUs in use`;
}

// Moves with one finger or the mouse, zooms with two fingers or the wheel.
function usePointers(
  box: React.RefObject<HTMLDivElement>, camera: React.MutableRefObject<Camera>, setCamera: (camera: Camera) => void,
) {
  const fingers = useRef(new Map<number, { x: number; y: number }>());
  const travelled = useRef(0);
  useEffect(() => {
    const element = box.current;
    const turned = (event: WheelEvent) => {
      if (!element) return;
      event.preventDefault();
      const edge = element.getBoundingClientRect();
      setCamera(zoomAt(camera.current, Math.exp(-event.deltaY / 400), event.clientX - edge.left, event.clientY - edge.top));
    };
    element?.addEventListener("wheel", turned, { passive: false });
    return () => element?.removeEventListener("wheel", turned);
  }, [box, camera, setCamera]);
  const down = (event: PointerEvent) => {
    if (fingers.current.size === 0) travelled.current = 0;
    fingers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
    (event.target as Element).setPointerCapture?.(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const before = fingers.current.get(event.pointerId);
    if (!before) return;
    const all = fingers.current;
    const other = [...all].find(([id]) => id !== event.pointerId)?.[1];
    const [dx, dy] = [event.clientX - before.x, event.clientY - before.y];
    travelled.current += Math.abs(dx) + Math.abs(dy);
    const edge = box.current?.getBoundingClientRect();
    if (other && edge) {
      const far = (p: { x: number; y: number }) => Math.hypot(p.x - other.x, p.y - other.y) || 1;
      const by = far({ x: event.clientX, y: event.clientY }) / far(before);
      setCamera(zoomAt(camera.current, by, other.x - edge.left, other.y - edge.top));
    } else {
      const c = camera.current;
      setCamera({ ...c, x: c.x - dx / c.scale, y: c.y - dy / c.scale });
    }
    all.set(event.pointerId, { x: event.clientX, y: event.clientY });
  };
  const up = (event: PointerEvent) => fingers.current.delete(event.pointerId);
  return { down, move, up, travelled };
}

// What the status line tells about: by names, so that new figures of the same GPU show.
type Told = { node: string; cell?: number } | { group: ReactNode };

export function FleetMap({ fleets, chosen, colouring, choose, colourBy }: Props) {
  const colour = useColour();
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const size = useRef<Size>({ width: 1, height: 1 });
  const [told, setTold] = useState<Told>();
  const [cursor, setCursor] = useState<{ node: string; cell: number }>();
  const [free, setFree] = useState<Camera>(); // unset: the whole fleet
  const [aspect, setAspect] = useState(1.6);
  const root = useMemo(() => buildFleet(fleets, aspect), [fleets, aspect]);
  const leaves = useMemo(() => leavesOf(root), [root]);
  const legend = useMemo(() => legendOf(fleets, colouring), [fleets, colouring]);
  const bands = useMemo(() => bandsOf(leaves, legend), [leaves, legend]);
  const find = useCallback((name: string) => leaves.find((leaf) => leaf.node.name === name), [leaves]);
  const camera = useRef<Camera>({ x: 0, y: 0, scale: 1 });
  const setCamera = useCallback((next: Camera) => {
    camera.current = next;
    setFree(next);
  }, []);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, now: Size) => {
      size.current = now;
      camera.current = free ?? fit(root, now);
      setAspect((old) => (Math.abs(now.width / now.height - old) > 0.4 ? now.width / now.height : old));
      const at = cursor && find(cursor.node);
      const scene = { root, legend, bands, chosen, cursor: at && { leaf: at, cell: at.node.first + cursor.cell } };
      drawFleet(context, now, camera.current, scene, colour);
    },
    [root, legend, bands, free, chosen, cursor, find, colour],
  );
  useCanvas(canvas, draw);
  const pointers = usePointers(box, camera, setCamera);
  const show = (leaf: Leaf, closest: number) => {
    if (size.current.width <= 1) return; // nothing was drawn yet: the whole fleet comes first
    const c = camera.current;
    const [x, y] = [(leaf.x - c.x) * c.scale, (leaf.y - c.y) * c.scale];
    const [width, height] = [leaf.width * c.scale, leaf.height * c.scale];
    const seen = x >= 0 && y >= 0 && x + width <= size.current.width && y + height <= size.current.height;
    if (!seen || width < 26) setCamera(fit(leaf, size.current, closest));
  };
  useEffect(() => {
    // Brings a node that was chosen elsewhere into sight.
    const leaf = chosen ? find(chosen) : undefined;
    if (!leaf) return;
    setTold({ node: chosen });
    show(leaf, 2);
    // Only a new choice moves the map, not new figures.
  }, [chosen]);
  const middle = (by: number) => setCamera(zoomAt(camera.current, by, size.current.width / 2, size.current.height / 2));
  const move = (dx: number, dy: number) => {
    const c = camera.current;
    setCamera({ ...c, x: c.x + (dx * STEP) / c.scale, y: c.y + (dy * STEP) / c.scale });
  };
  // Moves the cursor to the next or previous GPU, or to the first GPU of another node.
  const step = (cells: number, nodes: number) => {
    const withCells = leaves.filter((leaf) => leaf.node.cells);
    if (!withCells.length) return;
    let at = withCells.findIndex((leaf) => leaf.node.name === (cursor?.node ?? chosen));
    let cell = cursor && at >= 0 ? cursor.cell + cells : 0;
    if (at < 0) at = 0;
    else if (nodes) [at, cell] = [at + nodes, 0];
    else if (cell >= withCells[at].node.cells) [at, cell] = [at + 1, 0];
    else if (cell < 0) {
      at -= 1;
      cell = (withCells[at]?.node.cells ?? 1) - 1;
    }
    const leaf = withCells[at];
    if (!leaf) return;
    setCursor({ node: leaf.node.name, cell });
    setTold({ node: leaf.node.name, cell });
    show(leaf, CURSOR_SCALE);
  };
  // Opens the job of the GPU under the cursor. Without a job, it chooses the node.
  const enter = () => {
    const leaf = cursor && find(cursor.node);
    if (!leaf) return;
    const job = partsOf(leaf.fleet, leaf.node.first + cursor.cell).find((part) => part.job)?.job;
    if (job) go(href(["job", job.id]));
    else choose(leaf.node.name);
  };
  const keys: { [key: string]: () => void } = {
    "+": () => middle(1.5), "=": () => middle(1.5), "-": () => middle(1 / 1.5), "0": () => setFree(undefined),
    ArrowLeft: () => move(-1, 0), ArrowRight: () => move(1, 0), ArrowUp: () => move(0, -1), ArrowDown: () => move(0, 1),
    j: () => step(1, 0), k: () => step(-1, 0), PageDown: () => step(0, 1), PageUp: () => step(0, -1), Enter: enter,
  };
  const pressed = onKeys(keys);
  const at = (event: { clientX: number; clientY: number }) => {
    const edge = box.current?.getBoundingClientRect();
    if (!edge) return { path: [], cell: undefined };
    const c = camera.current;
    const [x, y] = [c.x + (event.clientX - edge.left) / c.scale, c.y + (event.clientY - edge.top) / c.scale];
    const path = hit(root, x, y);
    const last = path[path.length - 1];
    return { path, cell: last?.kind === "node" && last.width * c.scale >= 26 ? cellAt(last, x, y) : undefined };
  };
  const tell = (event: PointerEvent) => {
    const { path, cell } = at(event);
    const last = path[path.length - 1];
    if (last?.kind === "node") setTold({ node: last.node.name, cell: cell === undefined ? undefined : cell - last.node.first });
    else if (last) setTold({ group: wordsOf(path, undefined) });
  };
  const released = (event: PointerEvent) => {
    pointers.up(event);
    if (pointers.travelled.current > 6) return;
    const { path, cell } = at(event);
    const last = path[path.length - 1];
    if (last?.kind === "node") {
      choose(last.node.name);
      setCursor(cell === undefined ? undefined : { node: last.node.name, cell: cell - last.node.first });
      tell(event);
    } else if (last) setCamera(fit(last, size.current));
  };
  const words = (): ReactNode => {
    if (!told) return "Point at a part of the map, or choose a node in the table.";
    if ("group" in told) return told.group;
    const leaf = find(told.node);
    return leaf ? wordsOf([leaf], told.cell === undefined ? undefined : leaf.node.first + told.cell) : "";
  };
  return (
    <div className="map">
      <p className="chart-keys">
        <button type="button" onClick={keys["+"]} aria-label="Nearer">+</button>
        <button type="button" onClick={keys["-"]} aria-label="Farther">−</button>
        <button type="button" onClick={keys["0"]}>All</button>
        <label htmlFor="colouring" className="inline">
          Colour by{" "}
          <select id="colouring" value={colouring} onChange={(event) => colourBy(event.target.value as Colouring)}>
            {COLOURINGS.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
          </select>
        </label>
      </p>
      <p className="legend">
        {legend.fills.map((fill, i) =>
          legend.milligpu[i] ? (
            <span key={fill.name}><i className={fill.name} />{shown(fill.text)} <b>{gpusText(legend.milligpu[i])}</b></span>
          ) : null,
        )}
      </p>
      <div
        className="map-box"
        ref={box}
        tabIndex={0}
        role="application"
        aria-roledescription="map"
        aria-label={`Map of ${plural(root.nodes, "node")}, ${gpus(root.held)} of ${gpus(root.installed)} GPUs in use. Arrows move it, plus and minus zoom, j and k go from GPU to GPU, Enter opens the job. The table has the same nodes.`}
        onKeyDown={pressed}
        onPointerDown={pointers.down}
        onPointerMove={(event) => {
          pointers.move(event);
          if (event.pointerType === "mouse" && !event.buttons) tell(event);
        }}
        onPointerUp={released}
        onPointerCancel={pointers.up}
      >
        <canvas ref={canvas} aria-hidden="true" />
      </div>
      <p className="told" role="status">{words()}</p>
    </div>
  );
}
