// The fleet as a map of single GPUs, and its nodes as a table beside it.
import { useMemo } from "react";
import type { PlanJob } from "subak-api";
import { call } from "../call";
import { Colouring, COLOURINGS } from "../fleet_colours";
import { Fleet as FleetOf, KEPT, MapNode, partsOf, readFleet, RESERVED } from "../fleet_map";
import { Bar, Name, useNow, View } from "../parts";
import { useRead } from "../read";
import { href, momentOf, refine } from "../route";
import { Column, Table } from "../table";
import { count, gpus, plural, relative, shown } from "../text";
import { FleetMap } from "./fleet_map";
import { ChosenNode, placeOf } from "./fleet_node";

interface Picture {
  fleets: FleetOf[];
  clusters: string[];
  // Jobs that start on the chosen node, by the forecast.
  next: PlanJob[];
}

async function load(cluster: string, node: string, signal: AbortSignal) {
  const list = await call("ClusterService/ListClusters", {}, signal);
  const clusters = (list.value.clusters ?? []).map((one) => one.name ?? "");
  const few = { cluster, domain: node, columns: 1, rows: 1, jobs: 1000 };
  // No fact has a forecast of an earlier moment.
  const plan = node && !momentOf() ? call("ClusterService/GetPlan", few, signal).catch(() => undefined) : undefined;
  const fleets: FleetOf[] = [];
  let sequence = list.sequence;
  for (const name of cluster ? [cluster] : clusters) {
    const answer = await call("ClusterService/GetFleetMap", { cluster: name }, signal);
    sequence = answer.sequence;
    fleets.push(readFleet(answer.value));
  }
  const jobs = (await plan)?.value.jobs ?? [];
  const next = jobs.filter((job) => job.kind !== "PLAN_KIND_RUNS");
  return { value: { fleets, clusters, next } as Picture, sequence, moment: list.moment };
}

// A node with its fleet.
interface Row {
  node: MapNode;
  fleet: FleetOf;
}

// True if a cell of the node is in this state, at least in part.
function has({ node, fleet }: Row, state: number): boolean {
  for (let cell = node.first; cell < node.first + node.cells; cell += 1) {
    if (partsOf(fleet, cell).some((part) => part.state === state)) return true;
  }
  return false;
}

function columns(now: number): Column<Row>[] {
  return [
    {
      title: "Node", width: "minmax(7rem, 1.1fr)", phone: "left",
      cell: ({ node }) => (
        <a
          href={href(["fleet"], { node: node.name })}
          onClick={(event) => { event.preventDefault(); refine({ node: node.name }); }}
        >
          <Name>{node.name}</Name>
          <small><Name>{placeOf(node)}</Name></small>
        </a>
      ),
    },
    {
      title: "In use", width: "minmax(8rem, 1fr)", phone: "right",
      cell: ({ node }) => (
        <>
          {gpus(node.held)} of {gpus(node.gpus * 1000)}
          <Bar
            whole={node.gpus * 1000}
            parts={[{ className: "runs", value: node.held }, { className: "closed", value: node.closed }]}
          />
        </>
      ),
    },
    {
      title: "State", width: "minmax(6rem, .8fr)", phone: "left",
      cell: (row) => {
        const { condition, drain } = row.node;
        if (condition) return <span className="tag warn">{shown(condition)}</span>;
        if (has(row, RESERVED)) return <span className="tag reserved">reserved</span>;
        if (has(row, KEPT)) return <span className="tag">kept for gangs</span>;
        return drain?.from ? `drains ${relative(drain.from, now)}` : "ready";
      },
    },
    { title: "Product", width: "minmax(8rem, 1fr)", phone: "right", cell: ({ node }) => <Name>{node.product || "no GPUs"}</Name> },
  ];
}

const textOf = ({ node }: Row) => `${node.name} ${node.product} ${placeOf(node)} ${node.condition}`.toLowerCase();

export function Fleet({ query }: { query: URLSearchParams }) {
  const cluster = query.get("cluster") ?? "";
  const chosen = query.get("node") ?? "";
  const words = (query.get("find") ?? "").toLowerCase();
  const colouring = COLOURINGS.find(([value]) => value === query.get("colour"))?.[0] ?? "state";
  const read = useRead(`fleet ${cluster} ${chosen}`, (signal) => load(cluster, chosen, signal));
  const now = useNow(read);
  const last = useLast(read.value, `${cluster} @${momentOf()}`);
  const nodes = useMemo(
    () => (last?.fleets ?? []).flatMap((fleet) => fleet.nodes.map((node): Row => ({ node, fleet }))),
    [last],
  );
  const rows = useMemo(() => (words ? nodes.filter((row) => textOf(row).includes(words)) : nodes), [nodes, words]);
  const row = nodes.find((one) => one.node.name === chosen);
  const at = chosen ? rows.findIndex((one) => one.node.name === chosen) : undefined;
  const command = "subak cluster map" + (cluster || (last?.clusters.length ?? 0) > 1 ? ` --cluster ${cluster || "NAME"}` : "");
  return (
    <View title="Fleet" name="Fleet" read={read} command={command}>
      {last ? (
        <div className="fleet">
          <div>
            <FleetMap
              fleets={last.fleets}
              chosen={chosen}
              colouring={colouring}
              choose={(name) => refine({ node: name })}
              colourBy={(by: Colouring) => refine({ colour: by === "state" ? "" : by })}
            />
            {row ? <ChosenNode {...row} next={read.value?.next ?? []} now={now} /> : null}
            {chosen && !row ? <p className="problem" role="alert">There is no node <Name>{chosen}</Name>.</p> : null}
          </div>
          <div>
            <form className="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
              {last.clusters.length > 1 ? (
                <label htmlFor="cluster">
                  Cluster
                  <select id="cluster" value={cluster} onChange={(event) => refine({ cluster: event.target.value })}>
                    <option value="">all</option>
                    {last.clusters.map((name) => <option key={name} value={name}>{shown(name)}</option>)}
                  </select>
                </label>
              ) : null}
              <label htmlFor="find">
                Name, product, place or state
                <input id="find" value={query.get("find") ?? ""} onChange={(event) => refine({ find: event.target.value })} />
              </label>
              <span className="weak" role="status">{count(rows.length)} of {plural(nodes.length, "node")}</span>
            </form>
            <Table
              label="Nodes"
              rows={rows}
              columns={columns(now)}
              rowKey={({ node }) => `${node.cluster} ${node.name}`}
              rowClass={({ node }) => (node.name === chosen ? "own" : "")}
              height={44}
              phoneHeight={72}
              at={at}
              empty="No node fits."
            />
          </div>
        </div>
      ) : null}
    </View>
  );
}

// Keeps the last fleet of a subject while a newly chosen node is read, so that the map stays in place.
function useLast(value: Picture | undefined, subject: string): Picture | undefined {
  const last = useMemo(() => ({ value: undefined as Picture | undefined }), [subject]);
  if (value) last.value = value;
  return last.value;
}
