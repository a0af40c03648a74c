// The map of the fleet: moved and zoomed by mouse, touch or keys.
import { PointerEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Node } from "subak-api";
import { Size, useCanvas } from "../canvas";
import { useColour } from "../colours";
import { Camera, drawFleet, fit, zoomAt } from "../fleet_draw";
import { buildFleet, findLeaf, Group, hit, Leaf, stateOf } from "../fleet_model";
import { onKeys } from "../keys";
import { gpus, int, plural, shown } from "../text";

interface Props {
  nodes: Node[];
  reserved: Set<string>;
  chosen: string;
  choose: (name: string) => void;
}

const STEP = 60; // pixels that an arrow key moves the map

export function nodeSentence(node: Node): string {
  const parts = [`${shown(node.spec?.name)}: ${gpus(node.allocatedMilligpu)} of ${gpus(node.installedMilligpu)} GPUs in use`];
  const closed = int(node.unusableMilligpu) + int(node.strandedMilligpu);
  if (closed) parts.push(`${gpus(closed)} not usable`);
  if (stateOf(node) !== "ready") parts.push(whyNot(node));
  return parts.join(", ");
}

// Says why a node takes no new pods. Empty: it does.
export function whyNot(node: Node): string {
  const spec = node.spec;
  if (node.drained) return "drained";
  if (spec?.unschedulable) return "cordoned";
  if (spec?.notReady) return "not ready";
  if (spec?.unfit) return shown(spec.unfit);
  if (spec?.gpusUnknown) return "GPUs not known";
  return spec?.contradicts ? "labels and resources contradict each other" : "";
}

function sentence(path: (Group | Leaf)[]): string {
  const last = path[path.length - 1];
  if (!last) return "";
  if (last.kind === "node") return nodeSentence(last.node);
  return `${last.level} ${shown(last.name)}: ${plural(last.nodes, "node")}, ${gpus(last.allocated)} of ${gpus(last.installed)} GPUs in use`;
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

export function FleetMap({ nodes, reserved, chosen, choose }: Props) {
  const colour = useColour();
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const size = useRef<Size>({ width: 1, height: 1 });
  const [told, setTold] = useState("");
  const [free, setFree] = useState<Camera>(); // unset: the whole fleet
  const [aspect, setAspect] = useState(1.6);
  const root = useMemo(() => buildFleet(nodes, reserved, aspect), [nodes, reserved, aspect]);
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
      drawFleet(context, now, root, camera.current, chosen, colour);
    },
    [root, free, chosen, colour],
  );
  useCanvas(canvas, draw);
  const pointers = usePointers(box, camera, setCamera);
  useEffect(() => {
    // Brings a node that was chosen elsewhere into sight.
    const leaf = chosen ? findLeaf(root, chosen) : undefined;
    if (!leaf) return;
    setTold(nodeSentence(leaf.node));
    if (size.current.width <= 1) return; // nothing was drawn yet: the whole fleet comes first
    const c = camera.current;
    const [x, y] = [(leaf.x - c.x) * c.scale, (leaf.y - c.y) * c.scale];
    const seen = x >= 0 && y >= 0 && x < size.current.width && y < size.current.height;
    if (!seen || leaf.width * c.scale < 26) setCamera(fit(leaf, size.current, 2));
    // Only a new choice moves the map, not new figures.
  }, [chosen]);
  const middle = (by: number) => setCamera(zoomAt(camera.current, by, size.current.width / 2, size.current.height / 2));
  const move = (dx: number, dy: number) => {
    const c = camera.current;
    setCamera({ ...c, x: c.x + (dx * STEP) / c.scale, y: c.y + (dy * STEP) / c.scale });
  };
  const keys: { [key: string]: () => void } = {
    "+": () => middle(1.5), "=": () => middle(1.5), "-": () => middle(1 / 1.5), "0": () => setFree(undefined),
    ArrowLeft: () => move(-1, 0), ArrowRight: () => move(1, 0), ArrowUp: () => move(0, -1), ArrowDown: () => move(0, 1),
  };
  const pressed = onKeys(keys);
  const pathAt = (event: { clientX: number; clientY: number }) => {
    const edge = box.current?.getBoundingClientRect();
    if (!edge) return [];
    const c = camera.current;
    return hit(root, c.x + (event.clientX - edge.left) / c.scale, c.y + (event.clientY - edge.top) / c.scale);
  };
  const released = (event: PointerEvent) => {
    pointers.up(event);
    if (pointers.travelled.current > 6) return;
    const path = pathAt(event);
    const last = path[path.length - 1];
    if (last?.kind === "node") choose(last.node.spec?.name ?? "");
    else if (last) setCamera(fit(last, size.current));
  };
  return (
    <div className="map">
      <p className="chart-keys">
        <button type="button" onClick={keys["+"]} aria-label="Nearer">+</button>
        <button type="button" onClick={keys["-"]} aria-label="Farther">−</button>
        <button type="button" onClick={keys["0"]}>All</button>
        <span className="legend">
          <span><i className="runs" />in use</span>
          <span><i className="idle striped-back" />reserved</span>
          <span><i className="free" />free</span>
          <span><i className="closed" />not usable</span>
          <span><i className="drained striped" />drained</span>
          <span><i className="unfit striped-back" />unfit</span>
        </span>
      </p>
      <div
        className="map-box"
        ref={box}
        tabIndex={0}
        role="application"
        aria-roledescription="map"
        aria-label={`Map of ${plural(root.nodes, "node")}, ${gpus(root.allocated)} of ${gpus(root.installed)} GPUs in use. Arrows move it, plus and minus zoom. The table has the same nodes.`}
        onKeyDown={pressed}
        onPointerDown={pointers.down}
        onPointerMove={(event) => {
          pointers.move(event);
          if (event.pointerType === "mouse" && !event.buttons) setTold(sentence(pathAt(event)));
        }}
        onPointerUp={released}
        onPointerCancel={pointers.up}
      >
        <canvas ref={canvas} aria-hidden="true" />
      </div>
      <p className="told" role="status">{told || "Point at a part of the map, or choose a node in the table."}</p>
    </div>
  );
}
