// What the colours of the map mean: states, teams, or expected ends.
import { stripes } from "./canvas";
import { DIVIDED, DRAINED, Fleet, FOREIGN, FREE, HELD, isHeld, KEPT, Part, partsOf, RESERVED, RUNNING, UNFIT } from "./fleet_map";
import { count } from "./text";

export type Colouring = "state" | "team" | "end";
export const COLOURINGS: [Colouring, string][] = [["state", "state"], ["team", "team"], ["end", "expected end"]];

// A colour of the map: its class in the style sheet, and what it stands for.
export interface Fill {
  name: string;
  text: string;
}

const STATE_FILLS: { [state: number]: Fill } = {
  [RUNNING]: { name: "runs", text: "running" },
  [HELD]: { name: "held", text: "starting" },
  [FOREIGN]: { name: "foreign", text: "not admitted by Subak" },
  [RESERVED]: { name: "idle", text: "reserved" },
  [KEPT]: { name: "kept", text: "kept for gangs" },
  [FREE]: { name: "free", text: "free" },
  [DRAINED]: { name: "drained", text: "drained" },
  [UNFIT]: { name: "unfit", text: "unfit" },
};
// Returns a state in the words of the legend.
export const stateText = (state: number): string => STATE_FILLS[state]?.text ?? "";

const TEAMS = 8; // teams with a colour of their own: those with the most GPUs
const ENDS: [number, string][] = [
  [15 * 60_000, "within 15 min"], [3_600_000, "within 1 h"], [4 * 3_600_000, "within 4 h"], [86_400_000, "within a day"],
];

// The fills of one colouring, and the fill of each part.
export interface Legend {
  fills: Fill[];
  // The index of the part's fill.
  of: (part: Part, fleet: Fleet) => number;
  // The milli-GPU of each fill.
  milligpu: number[];
}

function teamsOf(fleets: Fleet[]): string[] {
  const held = new Map<string, number>();
  each(fleets, (part) => {
    if (!part.job || !isHeld(part.state)) return;
    const account = part.job.owner.account;
    held.set(account, (held.get(account) ?? 0) + part.milligpu);
  });
  return [...held].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, TEAMS).map(([account]) => account);
}

function each(fleets: Fleet[], see: (part: Part, fleet: Fleet) => void): void {
  for (const fleet of fleets) {
    for (let cell = 0; cell < fleet.states.length; cell += 1) {
      for (const part of partsOf(fleet, cell)) see(part, fleet);
    }
  }
}

export function legendOf(fleets: Fleet[], colouring: Colouring): Legend {
  const states = Object.keys(STATE_FILLS).map(Number);
  const own = colouring === "state" ? states : states.filter((state) => !isHeld(state));
  const fills = own.map((state) => STATE_FILLS[state]);
  const byState = new Map(own.map((state, i) => [state, i]));
  const first = fills.length;
  let of: Legend["of"] = (part) => byState.get(part.state) ?? 0;
  if (colouring === "team") {
    const teams = teamsOf(fleets);
    const index = new Map(teams.map((team, i) => [team, first + i]));
    teams.forEach((team, i) => fills.push({ name: `team-${i}`, text: team || "no account" }));
    fills.push({ name: "others", text: "other teams" });
    of = (part) => byState.get(part.state) ?? index.get(part.job?.owner.account ?? "") ?? fills.length - 1;
  } else if (colouring === "end") {
    ENDS.forEach(([, text], i) => fills.push({ name: `end-${i}`, text }));
    fills.push({ name: `end-${ENDS.length}`, text: "later" }, { name: "others", text: "end not known" });
    of = (part, fleet) => {
      const idle = byState.get(part.state);
      if (idle !== undefined) return idle;
      const end = part.job?.end;
      if (end === undefined) return fills.length - 1;
      const at = ENDS.findIndex(([ms]) => end - fleet.time <= ms);
      return first + (at < 0 ? ENDS.length : at);
    };
  }
  const milligpu = fills.map(() => 0);
  each(fleets, (part, fleet) => (milligpu[of(part, fleet)] += part.milligpu));
  return { fills, of, milligpu };
}

// Returns what a canvas paints for each fill. Reserved, kept, drained and unfit have patterns besides
// colours.
export function paints(
  context: CanvasRenderingContext2D, legend: Legend, colour: (name: string) => string,
): (CanvasPattern | string)[] {
  const patterns: { [name: string]: () => CanvasPattern | string } = {
    held: () => stripes(context, colour("--runs"), colour("--on-runs"), 1),
    idle: () => stripes(context, colour("--idle"), colour("--idle-line"), -1),
    kept: () => stripes(context, colour("--free"), colour("--kept"), -1),
    drained: () => stripes(context, colour("--closed"), colour("--strong"), 1),
    unfit: () => stripes(context, colour("--ground"), colour("--bad"), -1),
  };
  return legend.fills.map((fill) => (patterns[fill.name] ?? (() => colour(`--${fill.name}`)))());
}

// Returns the fills of a whole cell: of a divided one, that of its largest part.
export function fillOf(legend: Legend, fleet: Fleet, cell: number): number {
  if (fleet.states[cell] !== DIVIDED) return legend.of(partsOf(fleet, cell)[0], fleet);
  const largest = partsOf(fleet, cell).reduce((a, b) => (b.milligpu > a.milligpu ? b : a));
  return legend.of(largest, fleet);
}

export const gpusText = (milligpu: number): string => count(milligpu / 1000);
