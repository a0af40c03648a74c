// The fleet as nested boxes: cluster, superpod, block, rack, NVLink domain and node. Positions are
// in units of the map; the view scales and moves it.
import type { Node } from "subak-api";
import { int } from "./text";

export type NodeState = "ready" | "drained" | "unfit";

export interface Leaf {
  kind: "node";
  node: Node;
  state: NodeState;
  // True: GPUs of the node are reserved for a job that waits.
  reserved: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Group {
  kind: "group";
  // "cluster demo", "rack r1", "domain 5f1d…".
  level: string;
  name: string;
  children: (Group | Leaf)[];
  nodes: number;
  installed: number;
  allocated: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

const CELL = 10; // a GPU
const PAD = 4;
const HEAD = 14; // room for a node's name
const TITLE = 20; // room for a group's name
const SLACK = 1.15; // rows are never quite full
const EMPTY_COSTS = 1.2; // of an empty place, against a shape that is too wide or too high
const LEVELS = ["rack", "block", "superpod", "level 4"];

export function stateOf(node: Node): NodeState {
  const spec = node.spec;
  if (node.drained || spec?.unschedulable) return "drained";
  if (spec?.notReady || spec?.unfit || spec?.contradicts || spec?.gpusUnknown) return "unfit";
  return "ready";
}

// The groups of a node from the outside to the inside.
function path(node: Node): [string, string][] {
  const levels = node.spec?.levels?.length ? node.spec.levels : node.spec?.rack ? [node.spec.rack] : [];
  const groups: [string, string][] = [["cluster", node.cluster ?? ""]];
  groups.push(["product", node.spec?.product || "no GPUs"]);
  for (let i = levels.length - 1; i >= 0; i -= 1) if (levels[i]) groups.push([LEVELS[i] ?? "level", levels[i]]);
  if (node.spec?.clique && node.spec.clique !== levels[0]) groups.push(["domain", node.spec.clique]);
  return groups;
}

// The GPU cells of a node lie in rows of this length.
export const columnsOf = (gpus: number): number => (gpus <= 4 ? Math.max(1, gpus) : gpus <= 16 ? Math.ceil(gpus / 2) : 8);

function leafOf(node: Node, reserved: boolean): Leaf {
  const gpus = Math.max(1, int(node.spec?.gpus));
  const columns = columnsOf(gpus);
  return {
    kind: "node", node, state: stateOf(node), reserved, x: 0, y: 0,
    width: Math.max(columns, 4) * CELL + 2 * PAD,
    height: Math.ceil(gpus / columns) * CELL + HEAD + PAD,
  };
}

function newGroup(level: string, name: string): Group {
  return { kind: "group", level, name, children: [], nodes: 0, installed: 0, allocated: 0, x: 0, y: 0, width: 0, height: 0 };
}

// For children of one size: the width of a row that leaves few places empty and comes near `aspect`.
function equalRoom(children: (Group | Leaf)[], aspect: number): number | undefined {
  const { width, height } = children[0];
  if (children.some((child) => child.width !== width || child.height !== height)) return undefined;
  const n = children.length;
  let best = { columns: 1, score: Infinity };
  for (let columns = 1; columns <= n; columns += 1) {
    const rows = Math.ceil(n / columns);
    const shape = Math.abs(Math.log((columns * width) / (rows * height) / aspect));
    const score = shape + EMPTY_COSTS * (1 - n / (columns * rows));
    if (score < best.score) best = { columns, score };
  }
  return best.columns * (width + PAD);
}

// Places the children in rows, so that the box is about `aspect` times as wide as high.
function pack(group: Group, aspect: number): void {
  for (const child of group.children) if (child.kind === "group") pack(child, 1.7);
  // Large groups first, which leaves less empty room. Nodes keep their order.
  if (group.children[0]?.kind === "group") group.children.sort((a, b) => b.height - a.height);
  const area = group.children.reduce((sum, child) => sum + (child.width + PAD) * (child.height + PAD), 0);
  const widest = Math.max(...group.children.map((child) => child.width));
  const room = Math.max(widest, equalRoom(group.children, aspect) ?? Math.sqrt(area * aspect) * SLACK);
  let [x, y, high, wide] = [PAD, TITLE, 0, 0];
  for (const child of group.children) {
    if (x > PAD && x + child.width > room + PAD) {
      x = PAD;
      y += high + PAD;
      high = 0;
    }
    child.x = x;
    child.y = y;
    x += child.width + PAD;
    wide = Math.max(wide, x);
    high = Math.max(high, child.height);
  }
  group.width = wide;
  group.height = y + high + PAD;
}

function settle(group: Group, x: number, y: number): void {
  group.x += x;
  group.y += y;
  for (const child of group.children) {
    if (child.kind === "group") settle(child, group.x, group.y);
    else {
      child.x += group.x;
      child.y += group.y;
    }
  }
}

// Puts the nodes into their groups. `reserved` has the names of nodes with reserved GPUs.
export function buildFleet(nodes: Node[], reserved: Set<string>, aspect: number): Group {
  const root = newGroup("fleet", "");
  const known = new Map<string, Group>();
  for (const node of nodes) {
    let at = root;
    let key = "";
    for (const [level, name] of path(node)) {
      key += `\n${level}\t${name}`;
      let group = known.get(key);
      if (!group) {
        group = newGroup(level, name);
        known.set(key, group);
        at.children.push(group);
      }
      at = group;
    }
    at.children.push(leafOf(node, reserved.has(node.spec?.name ?? "")));
  }
  count(root);
  if (root.children.length) {
    pack(root, aspect);
    settle(root, 0, 0);
  }
  return root;
}

function count(group: Group): void {
  for (const child of group.children) {
    if (child.kind === "group") count(child);
    group.nodes += child.kind === "group" ? child.nodes : 1;
    group.installed += child.kind === "group" ? child.installed : int(child.node.installedMilligpu);
    group.allocated += child.kind === "group" ? child.allocated : int(child.node.allocatedMilligpu);
  }
}

// The state of each GPU cell of a node. GPUs are counted, not numbered: the cells in use come first.
export function cellsOf(leaf: Leaf): ("runs" | "part" | "idle" | "free" | "closed")[] {
  const gpus = int(leaf.node.spec?.gpus);
  const used = int(leaf.node.allocatedMilligpu) / 1000;
  const closed = (int(leaf.node.unusableMilligpu) + int(leaf.node.strandedMilligpu)) / 1000;
  return Array.from({ length: gpus }, (_, i) => {
    if (i + 1 <= used) return "runs";
    if (i < used) return "part";
    if (i >= gpus - closed) return "closed";
    return leaf.reserved ? "idle" : "free";
  });
}

export function findLeaf(group: Group, name: string): Leaf | undefined {
  for (const child of group.children) {
    const found = child.kind === "group" ? findLeaf(child, name) : child.node.spec?.name === name ? child : undefined;
    if (found) return found;
  }
  return undefined;
}

// Returns the groups and the node at a point, from the outside to the inside.
export function hit(group: Group, x: number, y: number): (Group | Leaf)[] {
  for (const child of group.children) {
    if (x < child.x || y < child.y || x >= child.x + child.width || y >= child.y + child.height) continue;
    return [child, ...(child.kind === "group" ? hit(child, x, y) : [])];
  }
  return [];
}
