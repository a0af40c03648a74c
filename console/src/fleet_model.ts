// The fleet as nested boxes: cluster, product, superpod, block, rack, NVLink domain and node.
// Positions are in units of the map; the view scales and moves it.
import { Fleet, MapNode } from "./fleet_map";

export interface Leaf {
  kind: "node";
  node: MapNode;
  fleet: Fleet;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Group {
  kind: "group";
  // "cluster", "rack", "domain" ..., and the name.
  level: string;
  name: string;
  children: (Group | Leaf)[];
  nodes: number;
  // milli-GPU
  installed: number;
  held: number;
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

// The cells of a node lie in rows of this length.
export const columnsOf = (cells: number): number => (cells <= 4 ? Math.max(1, cells) : cells <= 16 ? Math.ceil(cells / 2) : 8);

// The box of a cell in its node.
export function cellBox(leaf: Leaf, cell: number): { x: number; y: number; width: number; height: number } {
  const columns = columnsOf(leaf.node.cells);
  const index = cell - leaf.node.first;
  return {
    x: leaf.x + PAD + (index % columns) * CELL,
    y: leaf.y + HEAD + Math.floor(index / columns) * CELL,
    width: CELL,
    height: CELL,
  };
}

function leafOf(node: MapNode, fleet: Fleet): Leaf {
  const cells = Math.max(1, node.cells);
  const columns = columnsOf(cells);
  return {
    kind: "node", node, fleet, x: 0, y: 0,
    width: Math.max(columns, 4) * CELL + 2 * PAD,
    height: Math.ceil(cells / columns) * CELL + HEAD + PAD,
  };
}

function newGroup(level: string, name: string): Group {
  return { kind: "group", level, name, children: [], nodes: 0, installed: 0, held: 0, x: 0, y: 0, width: 0, height: 0 };
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

// Puts the nodes into their groups.
export function buildFleet(fleets: Fleet[], aspect: number): Group {
  const root = newGroup("fleet", "");
  const known = new Map<string, Group>();
  for (const fleet of fleets) {
    for (const node of fleet.nodes) {
      let at = root;
      let key = "";
      for (const [level, name] of [["cluster", node.cluster], ...node.areas]) {
        key += `\n${level}\t${name}`;
        let group = known.get(key);
        if (!group) {
          group = newGroup(level, name || "no GPUs");
          known.set(key, group);
          at.children.push(group);
        }
        at = group;
      }
      at.children.push(leafOf(node, fleet));
    }
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
    group.installed += child.kind === "group" ? child.installed : child.node.gpus * 1000;
    group.held += child.kind === "group" ? child.held : child.node.held;
  }
}

// Returns all nodes in the order of the map.
export function leavesOf(group: Group, out: Leaf[] = []): Leaf[] {
  for (const child of group.children) {
    if (child.kind === "group") leavesOf(child, out);
    else out.push(child);
  }
  return out;
}

// Returns the groups and the node at a point, from the outside to the inside.
export function hit(group: Group, x: number, y: number): (Group | Leaf)[] {
  for (const child of group.children) {
    if (x < child.x || y < child.y || x >= child.x + child.width || y >= child.y + child.height) continue;
    return [child, ...(child.kind === "group" ? hit(child, x, y) : [])];
  }
  return [];
}

// Returns the cell of a node at a point. Undefined: there is none.
export function cellAt(leaf: Leaf, x: number, y: number): number | undefined {
  const columns = columnsOf(leaf.node.cells);
  const [column, row] = [Math.floor((x - leaf.x - PAD) / CELL), Math.floor((y - leaf.y - HEAD) / CELL)];
  const index = row * columns + column;
  return column < 0 || row < 0 || column >= columns || index >= leaf.node.cells ? undefined : leaf.node.first + index;
}
