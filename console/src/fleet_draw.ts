// Draws the fleet. The map opens up as one comes nearer: first the use of groups and nodes, then
// each GPU, then names.
import { fitText, Size, stripes } from "./canvas";
import { cellsOf, columnsOf, Group, Leaf } from "./fleet_model";
import { gpus, int, shown } from "./text";

export interface Camera {
  // The point of the map at the upper left corner, and pixels per unit.
  x: number;
  y: number;
  scale: number;
}

const CELLS_FROM = 26; // a node's width in pixels from which each GPU is drawn
const NAMES_FROM = 62;

interface Pen {
  context: CanvasRenderingContext2D;
  camera: Camera;
  size: Size;
  colour: (name: string) => string;
  fills: { [state: string]: CanvasPattern | string };
  chosen: string;
}

export function drawFleet(
  context: CanvasRenderingContext2D, size: Size, root: Group, camera: Camera, chosen: string, colour: (name: string) => string,
): void {
  const fills = {
    runs: colour("--runs"),
    free: colour("--free"),
    part: stripes(context, colour("--free"), colour("--runs"), 1),
    idle: stripes(context, colour("--idle"), colour("--idle-line"), -1),
    closed: colour("--closed"),
    drained: stripes(context, colour("--closed"), colour("--strong"), 1),
    unfit: stripes(context, colour("--ground"), colour("--bad"), -1),
  };
  drawGroup({ context, camera, size, colour, fills, chosen }, root, 0);
}

function outside(pen: Pen, box: Group | Leaf): boolean {
  const { camera, size } = pen;
  const x = (box.x - camera.x) * camera.scale;
  const y = (box.y - camera.y) * camera.scale;
  return x > size.width || y > size.height || x + box.width * camera.scale < 0 || y + box.height * camera.scale < 0;
}

function drawGroup(pen: Pen, group: Group, depth: number): void {
  const { context, camera, colour } = pen;
  if (outside(pen, group)) return;
  const x = (group.x - camera.x) * camera.scale;
  const y = (group.y - camera.y) * camera.scale;
  const [width, height] = [group.width * camera.scale, group.height * camera.scale];
  if (depth > 0) {
    context.strokeStyle = colour("--line");
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    const title = Math.min(20 * camera.scale, 20);
    if (title >= 9 && width > 40) {
      context.font = `${Math.min(13, Math.max(10, title * 0.62))}px system-ui, sans-serif`;
      context.fillStyle = depth === 1 ? colour("--strong") : colour("--weak");
      const use = `${gpus(group.allocated)}/${gpus(group.installed)}`;
      const level = group.level === "product" ? "" : group.level + " ";
      fitText(context, `${level}${shown(group.name)}  ${use}`, x + 4, y + title * 0.74, width - 8);
    }
  }
  for (const child of group.children) {
    if (child.kind === "group") drawGroup(pen, child, depth + 1);
    else if (!outside(pen, child)) drawNode(pen, child);
  }
  drawFarName(pen, group, x, y, width, height);
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

function drawNode(pen: Pen, leaf: Leaf): void {
  const { context, camera, colour, fills } = pen;
  const x = (leaf.x - camera.x) * camera.scale;
  const y = (leaf.y - camera.y) * camera.scale;
  const [width, height] = [leaf.width * camera.scale, leaf.height * camera.scale];
  const name = leaf.node.spec?.name ?? "";
  if (width < CELLS_FROM) drawSmall(pen, leaf, x, y, width, height);
  else {
    context.fillStyle = leaf.state === "ready" ? colour("--ground") : fills[leaf.state];
    context.fillRect(x, y, width, height);
    drawCells(pen, leaf, x, y);
    context.strokeStyle = colour("--line");
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    if (width >= NAMES_FROM) {
      context.font = "11px system-ui, sans-serif";
      if (leaf.state !== "ready") {
        context.fillStyle = colour("--ground");
        context.fillRect(x + 1, y + 1, width - 2, Math.min(13, 12 * camera.scale));
      }
      context.fillStyle = colour("--strong");
      fitText(context, shown(name), x + 4, y + 11, width - 8);
    }
  }
  if (name === pen.chosen) {
    context.strokeStyle = colour("--accent");
    context.lineWidth = 3;
    context.strokeRect(x - 1, y - 1, width + 2, height + 2);
    context.lineWidth = 1;
  }
}

// A node that is too small for its GPUs: its used part from below, on the ground of its state. The ground
// of a node that takes no pods is seen even if all GPUs are in use.
function drawSmall(pen: Pen, leaf: Leaf, x: number, y: number, width: number, height: number): void {
  const { context, fills } = pen;
  const installed = Math.max(1, int(leaf.node.installedMilligpu));
  const most = leaf.state === "ready" ? 1 : 0.7;
  const used = Math.min(most, int(leaf.node.allocatedMilligpu) / installed);
  const gap = width > 4 ? 0.5 : 0;
  const high = (height - 2 * gap) * used;
  if (used < 1) {
    context.fillStyle = leaf.state === "ready" ? (leaf.reserved ? fills.idle : fills.free) : fills[leaf.state];
    context.fillRect(x + gap, y + gap, width - 2 * gap, height - 2 * gap - high);
  }
  if (used > 0) {
    context.fillStyle = fills.runs;
    context.fillRect(x + gap, y + height - gap - high, width - 2 * gap, high);
  }
}

function drawCells(pen: Pen, leaf: Leaf, x: number, y: number): void {
  const { context, camera, fills } = pen;
  const cells = cellsOf(leaf);
  const columns = columnsOf(Math.max(1, cells.length));
  const cell = 10 * camera.scale;
  const gap = cell > 6 ? 1 : 0.4;
  let last = "";
  cells.forEach((state, i) => {
    if (state !== last) context.fillStyle = fills[state];
    last = state;
    const left = x + 4 * camera.scale + (i % columns) * cell;
    const top = y + 14 * camera.scale + Math.floor(i / columns) * cell;
    context.fillRect(left + gap, top + gap, cell - 2 * gap, cell - 2 * gap);
  });
}

export function zoomAt(camera: Camera, by: number, x: number, y: number): Camera {
  const scale = Math.min(12, Math.max(0.005, camera.scale * by));
  return { scale, x: camera.x + x / camera.scale - x / scale, y: camera.y + y / camera.scale - y / scale };
}

// The camera that shows a box whole, in the middle.
export function fit(box: { x: number; y: number; width: number; height: number }, size: Size, most = 4): Camera {
  const scale = Math.min(most, size.width / Math.max(1, box.width + 8), size.height / Math.max(1, box.height + 8));
  return {
    scale,
    x: box.x + box.width / 2 - size.width / 2 / scale,
    y: box.y + box.height / 2 - size.height / 2 / scale,
  };
}
