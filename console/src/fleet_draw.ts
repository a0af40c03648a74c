// Draws the fleet. The map opens up as one comes nearer: first the use of groups and nodes, then
// each GPU, then names.
import { fitText, Size } from "./canvas";
import { fillOf, Legend, paints } from "./fleet_colours";
import { DIVIDED, FREE, MapNode, partsOf, STATES, UNFIT } from "./fleet_map";
import { cellBox, Group, Leaf } from "./fleet_model";
import { gpus, shown } from "./text";

export interface Camera {
  // The point of the map at the upper left corner, and pixels per unit.
  x: number;
  y: number;
  scale: number;
}

// The fills of a node with their parts of the node, from below.
export type Bands = Map<MapNode, [number, number][]>;

export interface Scene {
  root: Group;
  legend: Legend;
  bands: Bands;
  // The name of the chosen node, and the GPU under the cursor of the keys.
  chosen: string;
  cursor?: { leaf: Leaf; cell: number };
}

const CELLS_FROM = 26; // a node's width in pixels from which each GPU is drawn
const NAMES_FROM = 62;
const CLOSED_PART = 0.3; // of a small node that takes no pods: the part with the pattern of the reason

interface Pen {
  context: CanvasRenderingContext2D;
  camera: Camera;
  size: Size;
  scene: Scene;
  colour: (name: string) => string;
  // The rectangles of each fill: x, y, width, height. Drawn together, since a change of the fill is slow.
  boxes: number[][];
  near: Leaf[];
  after: (() => void)[];
}

export function bandsOf(leaves: Leaf[], legend: Legend): Bands {
  const out: Bands = new Map();
  for (const { node, fleet } of leaves) {
    const sums = new Map<number, number>();
    let all = 0;
    for (let cell = node.first; cell < node.first + node.cells; cell += 1) {
      for (const part of partsOf(fleet, cell)) {
        const fill = legend.of(part, fleet);
        sums.set(fill, (sums.get(fill) ?? 0) + part.milligpu);
        all += part.milligpu;
      }
    }
    const sorted = [...sums].sort((a, b) => a[0] - b[0]);
    out.set(node, sorted.map(([fill, milligpu]) => [fill, all ? milligpu / all : 0]));
  }
  return out;
}

export function drawFleet(
  context: CanvasRenderingContext2D, size: Size, camera: Camera, scene: Scene, colour: (name: string) => string,
): void {
  const fills = paints(context, scene.legend, colour);
  const pen: Pen = { context, camera, size, scene, colour, boxes: fills.map(() => []), near: [], after: [] };
  drawGroup(pen, scene.root, 0);
  context.fillStyle = colour("--ground");
  for (const leaf of pen.near) context.fillRect(...boxOf(pen, leaf));
  pen.boxes.forEach((boxes, fill) => {
    context.fillStyle = fills[fill];
    for (let i = 0; i < boxes.length; i += 4) context.fillRect(boxes[i], boxes[i + 1], boxes[i + 2], boxes[i + 3]);
  });
  for (const leaf of pen.near) drawFrame(pen, leaf, fills);
  for (const draw of pen.after) draw();
}

type Box = { x: number; y: number; width: number; height: number };

function boxOf({ camera }: Pen, box: Box): [number, number, number, number] {
  const { scale } = camera;
  return [(box.x - camera.x) * scale, (box.y - camera.y) * scale, box.width * scale, box.height * scale];
}

function outside(pen: Pen, box: Box): boolean {
  const [x, y, width, height] = boxOf(pen, box);
  return x > pen.size.width || y > pen.size.height || x + width < 0 || y + height < 0;
}

function drawGroup(pen: Pen, group: Group, depth: number): void {
  const { context, camera, colour } = pen;
  if (outside(pen, group)) return;
  const [x, y, width, height] = boxOf(pen, group);
  if (depth > 0) {
    context.strokeStyle = colour("--line");
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    const title = Math.min(20 * camera.scale, 20);
    if (title >= 9 && width > 40) {
      context.font = `${Math.min(13, Math.max(10, title * 0.62))}px system-ui, sans-serif`;
      context.fillStyle = depth === 1 ? colour("--strong") : colour("--weak");
      const use = `${gpus(group.held)}/${gpus(group.installed)}`;
      const level = group.level === "product" ? "" : group.level + " ";
      fitText(context, `${level}${shown(group.name)}  ${use}`, x + 4, y + title * 0.74, width - 8);
    }
  }
  for (const child of group.children) {
    if (child.kind === "group") drawGroup(pen, child, depth + 1);
    else if (!outside(pen, child)) addNode(pen, child);
  }
  pen.after.push(() => drawFarName(pen, group, x, y, width, height));
}

// From afar a group has no room for its title. The smallest group with room for a name in its middle gets
// the name there.
function drawFarName(pen: Pen, group: Group, x: number, y: number, width: number, height: number): void {
  const { context, camera, colour } = pen;
  const inner = Math.max(0, ...group.children.map((child) => child.width)) * camera.scale;
  if (20 * camera.scale >= 9 || width < NAMES_FROM || height < 22 || inner >= NAMES_FROM || !group.name) return;
  context.font = "11px system-ui, sans-serif";
  const text = shown(group.name);
  const room = Math.min(width - 8, context.measureText(text).width);
  const left = x + (width - room) / 2;
  context.fillStyle = colour("--ground");
  context.fillRect(left - 4, y + height / 2 - 9, room + 8, 17);
  context.fillStyle = colour("--strong");
  fitText(context, text, left, y + height / 2 + 4, room + 1);
}

function addNode(pen: Pen, leaf: Leaf): void {
  const { context, colour, scene } = pen;
  const [x, y, width, height] = boxOf(pen, leaf);
  if (width < CELLS_FROM) addSmall(pen, leaf, x, y, width, height);
  else {
    pen.near.push(leaf);
    for (let cell = leaf.node.first; cell < leaf.node.first + leaf.node.cells; cell += 1) addCell(pen, leaf, cell);
  }
  if (leaf.node.name !== scene.chosen) return;
  pen.after.push(() => {
    context.strokeStyle = colour("--accent");
    context.lineWidth = 3;
    context.strokeRect(x - 1, y - 1, width + 2, height + 2);
    context.lineWidth = 1;
  });
}

// The index of the fill that says why a node takes no pods; -1: it takes pods.
function closedFill(legend: Legend, node: MapNode): number {
  return node.state === FREE ? -1 : legend.fills.findIndex((fill) => fill.name === STATES[node.state]);
}

// A node that is too small for its GPUs: its fills from below. The pattern of a node that takes no pods
// is seen even if all GPUs are in use.
function addSmall(pen: Pen, leaf: Leaf, x: number, y: number, width: number, height: number): void {
  const gap = width > 4 ? 0.5 : 0;
  const closed = closedFill(pen.scene.legend, leaf.node);
  const whole = height - 2 * gap;
  const top = closed < 0 ? 0 : whole * CLOSED_PART;
  if (closed >= 0) pen.boxes[closed].push(x + gap, y + gap, width - 2 * gap, top);
  let bottom = y + height - gap;
  for (const [fill, part] of pen.scene.bands.get(leaf.node) ?? []) {
    const high = (whole - top) * part;
    bottom -= high;
    pen.boxes[fill].push(x + gap, bottom, width - 2 * gap, high);
  }
}

function addCell(pen: Pen, leaf: Leaf, cell: number): void {
  const { legend } = pen.scene;
  const [x, y, width, height] = boxOf(pen, cellBox(leaf, cell));
  const gap = width > 6 ? 1 : 0.4;
  const wide = width - 2 * gap;
  if (leaf.fleet.states[cell] !== DIVIDED) {
    pen.boxes[fillOf(legend, leaf.fleet, cell)].push(x + gap, y + gap, wide, height - 2 * gap);
    return;
  }
  // Its parts from the left to the right.
  const parts = partsOf(leaf.fleet, cell);
  const all = parts.reduce((sum, part) => sum + part.milligpu, 0);
  let left = x + gap;
  for (const part of parts) {
    const size = (wide * part.milligpu) / all;
    pen.boxes[legend.of(part, leaf.fleet)].push(left, y + gap, size, height - 2 * gap);
    left += size;
  }
}

// The frame and the name of a node with cells, and what its state is.
function drawFrame(pen: Pen, leaf: Leaf, fills: (CanvasPattern | string)[]): void {
  const { context, camera, colour, scene } = pen;
  const [x, y, width, height] = boxOf(pen, leaf);
  const closed = closedFill(scene.legend, leaf.node);
  const head = Math.min(13, 12 * camera.scale);
  if (closed >= 0) {
    context.fillStyle = fills[closed];
    context.fillRect(x + 1, y + 1, width - 2, head);
  }
  context.strokeStyle = closed < 0 ? colour("--line") : colour(leaf.node.state === UNFIT ? "--bad" : "--strong");
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  if (width >= NAMES_FROM) {
    context.font = "11px system-ui, sans-serif";
    const name = shown(leaf.node.name);
    if (closed >= 0) {
      context.fillStyle = colour("--ground");
      context.fillRect(x + 2, y + 1, Math.min(width - 4, context.measureText(name).width + 5), head);
    }
    context.fillStyle = colour("--strong");
    fitText(context, name, x + 4, y + 11, width - 8);
  }
  if (scene.cursor?.leaf.node !== leaf.node) return;
  context.strokeStyle = colour("--accent");
  context.lineWidth = 2.5;
  context.strokeRect(...boxOf(pen, cellBox(leaf, scene.cursor.cell)));
  context.lineWidth = 1;
}

export function zoomAt(camera: Camera, by: number, x: number, y: number): Camera {
  const scale = Math.min(12, Math.max(0.005, camera.scale * by));
  return { scale, x: camera.x + x / camera.scale - x / scale, y: camera.y + y / camera.scale - y / scale };
}

// The camera that shows a box whole, in the middle.
export function fit(box: Box, size: Size, most = 4): Camera {
  const scale = Math.min(most, size.width / Math.max(1, box.width + 8), size.height / Math.max(1, box.height + 8));
  return {
    scale,
    x: box.x + box.width / 2 - size.width / 2 / scale,
    y: box.y + box.height / 2 - size.height / 2 / scale,
  };
}
