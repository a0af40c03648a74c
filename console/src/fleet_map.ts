// Reads the columns of GetFleetMap: nodes, and for each GPU and MIG slice (a cell) its state and job.
import type { FleetMap, GpuState } from "subak-api";
import { instant, int } from "./text";

// The states by the numbers of proto/subak/v1/fleet_map.proto.
export const STATES = [
  "", "free", "running", "held", "reserved", "kept", "drained", "unfit", "foreign", "divided",
] as const;
export const [FREE, RUNNING, HELD, RESERVED, KEPT, DRAINED, UNFIT, FOREIGN, DIVIDED] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const CODES = 16; // the factor of runs and parts
const NO_JOB = -1;

export interface Owner {
  account: string;
  user: string;
}

export interface MapJob {
  id: string;
  owner: Owner;
  // When its GPUs are expected to be free, in ms. Unset: not known.
  end?: number;
}

// A part of a cell, or a whole cell.
export interface Part {
  state: number;
  job?: MapJob;
  milligpu: number;
}

export interface MapNode {
  cluster: string;
  name: string;
  product: string;
  // All installed GPUs, and those that are not cut into slices. These are its first cells.
  gpus: number;
  uncut: number;
  slices: { profile: string; count: number }[];
  // The areas around it, from the outside to the inside: ["rack", "r7"].
  areas: [string, string][];
  // Why it takes no new pods. Empty: it does.
  condition: string;
  // The state of the condition: DRAINED or UNFIT; FREE without a condition.
  state: number;
  // Its cells in Fleet.states.
  first: number;
  cells: number;
  // The milli-GPU that pods hold, with those beyond what it has, and its milli-GPU that are closed.
  held: number;
  closed: number;
  drain?: { from?: number; until?: number };
}

// The fleet of a cluster.
export interface Fleet {
  time: number;
  nodes: MapNode[];
  // For each cell: its state, its milli-GPU, and the index of its job or -1.
  states: Uint8Array;
  amounts: Uint16Array;
  jobOf: Int32Array;
  jobs: MapJob[];
  // The parts of divided cells, by cell.
  parts: Map<number, Part[]>;
}

export const isHeld = (state: number): boolean => state === RUNNING || state === HELD || state === FOREIGN;
const hasJob = (state: number): boolean => isHeld(state) || state === RESERVED;
const isClosed = (state: number): boolean => state === DRAINED || state === UNFIT;
const stateOf = (name: GpuState | undefined): number => STATES.indexOf((name ?? "").replace("GPU_STATE_", "").toLowerCase() as "free");

// The first bytes of a name. Most names are ASCII, where a letter is a byte.
function beginning(name: string, bytes: number): string {
  const cut = name.slice(0, bytes);
  // eslint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(cut)) return cut;
  return new TextDecoder().decode(new TextEncoder().encode(name).slice(0, bytes));
}

function readJobs(map: FleetMap, time: number): MapJob[] {
  const owners = (map.ownerAccounts ?? []).map((account, i) => ({
    account: map.accounts?.[account - 1] ?? "",
    user: map.users?.[(map.ownerUsers?.[i] ?? 0) - 1] ?? "",
  }));
  let number = 0;
  return (map.jobNumbers ?? []).map((more, i) => {
    number += int(more);
    const end = map.jobEnds?.[i] ?? 0;
    return {
      id: `${map.clusterId ?? 0}-${number}`,
      owner: owners[map.jobOwners?.[i] ?? 0] ?? { account: "", user: "" },
      end: end ? time + (end - 1) * 60_000 : undefined,
    };
  });
}

function readNodes(map: FleetMap): MapNode[] {
  const areas: [string, string][][] = [];
  for (const area of map.areas ?? []) {
    const around = area.parent ? areas[area.parent - 1] ?? [] : [];
    areas.push([...around, [area.kind ?? "", area.name ?? ""]]);
  }
  let area = -1;
  let left = 0;
  let begin = "";
  let first = 0;
  return (map.nameRests ?? []).map((rest, i) => {
    while (left === 0 && area < areas.length) left = map.areas?.[(area += 1)]?.nodes ?? 0;
    left -= 1;
    begin = beginning(begin, map.nameKeeps?.[i] ?? 0) + rest;
    const name = begin + (map.nameEnd ?? "");
    const kind = map.kinds?.[map.nodeKinds?.[i] ?? 0] ?? {};
    const condition = map.conditions?.[(map.nodeConditions?.[i] ?? 0) - 1];
    const slices = (kind.slices ?? []).map((one) => ({ profile: one.profile ?? "", count: one.count ?? 0 }));
    const uncut = kind.uncutGpus ?? 0;
    const cells = slices.reduce((sum, one) => sum + one.count, uncut);
    first += cells;
    return {
      cluster: map.cluster ?? "", name, product: kind.product ?? "", gpus: kind.gpus ?? 0, uncut, slices,
      areas: areas[area] ?? [], condition: condition?.text ?? "", state: condition ? stateOf(condition.state) : FREE,
      first: first - cells, cells, held: 0, closed: 0,
    };
  });
}

// Writes the states and jobs of all cells, run by run.
function readRuns(map: FleetMap, fleet: Fleet): void {
  let [cell, run, divided, part, partJob, job] = [0, 0, 0, 0, 0, 0];
  for (const code of map.runs ?? []) {
    const [state, cells] = [code % CODES, Math.floor(code / CODES)];
    if (hasJob(state)) job += map.runJobs?.[run++] ?? 0;
    fleet.states.fill(state, cell, cell + cells);
    fleet.jobOf.fill(hasJob(state) ? job : NO_JOB, cell, cell + cells);
    if (state === DIVIDED) {
      const parts: Part[] = [];
      for (let i = map.partCounts?.[divided++] ?? 0; i > 0; i -= 1) {
        const one = map.parts?.[part++] ?? FREE;
        const of = one % CODES;
        parts.push({
          state: of,
          milligpu: Math.floor(one / CODES),
          job: hasJob(of) ? fleet.jobs[map.partJobs?.[partJob++] ?? 0] : undefined,
        });
      }
      fleet.parts.set(cell, parts);
    }
    cell += cells;
  }
}

function readAmounts(map: FleetMap, fleet: Fleet): void {
  fleet.nodes.forEach((node, i) => {
    const kind = map.kinds?.[map.nodeKinds?.[i] ?? 0];
    let at = node.first + node.uncut;
    fleet.amounts.fill(kind?.gpuMilligpu ?? 0, node.first, at);
    for (const slices of kind?.slices ?? []) {
      fleet.amounts.fill(slices.milligpu ?? 0, at, at + (slices.count ?? 0));
      at += slices.count ?? 0;
    }
    for (let cell = node.first; cell < node.first + node.cells; cell += 1) {
      for (const part of partsOf(fleet, cell)) {
        if (isHeld(part.state)) node.held += part.milligpu;
        if (isClosed(part.state)) node.closed += part.milligpu;
      }
    }
  });
  for (const excess of map.excess ?? []) fleet.nodes[excess.node ?? 0].held += int(excess.milligpu);
}

export function readFleet(map: FleetMap): Fleet {
  const time = instant(map.time) ?? 0;
  const nodes = readNodes(map);
  const last = nodes[nodes.length - 1];
  const cells = last ? last.first + last.cells : 0;
  const fleet: Fleet = {
    time, nodes, jobs: readJobs(map, time), parts: new Map(),
    states: new Uint8Array(cells), amounts: new Uint16Array(cells), jobOf: new Int32Array(cells),
  };
  readRuns(map, fleet);
  readAmounts(map, fleet);
  for (const drain of map.drains ?? []) {
    nodes[drain.node ?? 0].drain = { from: instant(drain.from), until: instant(drain.until) };
  }
  return fleet;
}

// Returns the parts of a cell. An undivided cell is one part.
export function partsOf(fleet: Fleet, cell: number): Part[] {
  const parts = fleet.parts.get(cell);
  if (parts) return parts;
  return [{ state: fleet.states[cell], milligpu: fleet.amounts[cell], job: fleet.jobs[fleet.jobOf[cell]] }];
}

// Returns what a cell of a node is called: "GPU 3" or "slice 2 of 1g.10gb".
export function cellName(node: MapNode, cell: number): string {
  let index = cell - node.first;
  if (index < node.uncut) return `GPU ${index}`;
  index -= node.uncut;
  for (const slices of node.slices) {
    if (index < slices.count) return `slice ${index} of ${slices.profile}`;
    index -= slices.count;
  }
  return "";
}

// The jobs that hold GPUs of a node, with their milli-GPU and the first of their cells.
export function jobsOn(fleet: Fleet, node: MapNode): { job: MapJob; milligpu: number; state: number; cell: number }[] {
  const found = new Map<string, { job: MapJob; milligpu: number; state: number; cell: number }>();
  for (let cell = node.first; cell < node.first + node.cells; cell += 1) {
    for (const part of partsOf(fleet, cell)) {
      if (!part.job) continue;
      const key = `${part.state} ${part.job.id}`;
      const known = found.get(key);
      if (known) known.milligpu += part.milligpu;
      else found.set(key, { job: part.job, milligpu: part.milligpu, state: part.state, cell });
    }
  }
  return [...found.values()];
}
