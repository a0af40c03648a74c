// The fleet as a map, and the same as a table beside it.
import { useMemo } from "react";
import type { Node, PlanJob } from "subak-api";
import { call, pages } from "../call";
import { Bar, Facts, Gpus, JobLink, Name, OwnerLink, useNow, View } from "../parts";
import { useRead } from "../read";
import { href, refine } from "../route";
import { Column, Table } from "../table";
import { count, gpus, int, plural, relative, instant, shown, time } from "../text";
import { FleetMap, whyNot } from "./fleet_map";

const PAGE = 2000;
const MOST = 50_000;

interface Picture {
  nodes: Node[];
  reserved: Set<string>;
  clusters: string[];
  // Jobs on the chosen node.
  on: PlanJob[];
}

async function load(cluster: string, node: string, signal: AbortSignal) {
  const list = await call("ClusterService/ListClusters", {}, signal);
  const clusters = (list.value.clusters ?? []).map((one) => one.name ?? "");
  const nodes: Node[] = [];
  let sequence = list.sequence;
  for (const name of cluster ? [cluster] : clusters) {
    const request = { cluster: name, pageSize: PAGE };
    const answer = await pages("ClusterService/ListNodes", request, MOST, (page) => page.nodes, signal);
    sequence = answer.sequence;
    for (const page of answer.value.all) nodes.push(...(page.nodes ?? []));
  }
  const few = { columns: 1, rows: 1, jobs: 1000 };
  const [plan, own] = await Promise.all([
    call("ClusterService/GetPlan", { cluster, ...few }, signal),
    node ? call("ClusterService/GetPlan", { cluster, domain: node, ...few }, signal).catch(() => undefined) : undefined,
  ]);
  const reserved = new Set<string>();
  for (const job of plan.value.jobs ?? []) {
    if (job.kind === "PLAN_KIND_IDLE" && int(job.idleMilligpu)) for (const name of job.nodes ?? []) reserved.add(name);
  }
  return { value: { nodes, reserved, clusters, on: own?.value.jobs ?? [] } as Picture, sequence };
}

const place = (node: Node): string => {
  const spec = node.spec;
  const levels = spec?.levels?.length ? spec.levels : spec?.rack ? [spec.rack] : [];
  return [...levels].reverse().concat(spec?.clique && spec.clique !== levels[0] ? [spec.clique] : []).join(" / ");
};

function columns(now: number, reserved: Set<string>): Column<Node>[] {
  return [
    {
      title: "Node", width: "minmax(7rem, 1.1fr)", phone: "left",
      cell: (node) => (
        <a
          href={href(["fleet"], { node: node.spec?.name })}
          onClick={(event) => { event.preventDefault(); refine({ node: node.spec?.name }); }}
        >
          <Name>{node.spec?.name}</Name>
          <small><Name>{place(node)}</Name></small>
        </a>
      ),
    },
    {
      title: "In use", width: "minmax(8rem, 1fr)", phone: "right",
      cell: (node) => (
        <>
          {gpus(node.allocatedMilligpu)} of {gpus(node.installedMilligpu)}
          <Bar
            whole={int(node.installedMilligpu)}
            parts={[
              { className: "runs", value: int(node.allocatedMilligpu) },
              { className: "closed", value: int(node.unusableMilligpu) + int(node.strandedMilligpu) },
            ]}
          />
        </>
      ),
    },
    {
      title: "State", width: "minmax(6rem, .8fr)", phone: "left",
      cell: (node) => {
        const why = whyNot(node);
        if (why) return <span className="tag warn">{why}</span>;
        if (reserved.has(node.spec?.name ?? "")) return <span className="tag reserved">reserved</span>;
        return node.drainFrom ? `drains ${relative(instant(node.drainFrom) ?? now, now)}` : "ready";
      },
    },
    { title: "Product", width: "minmax(8rem, 1fr)", phone: "right", cell: (node) => <Name>{node.spec?.product || "no GPUs"}</Name> },
  ];
}

function Chosen({ node, on, now }: { node: Node; on: PlanJob[]; now: number }) {
  const spec = node.spec;
  const here = on.filter((job) => job.kind === "PLAN_KIND_RUNS");
  const next = on.filter((job) => job.kind !== "PLAN_KIND_RUNS");
  const list = (jobs: PlanJob[]) => (
    <ul className="shares">
      {jobs.slice(0, 30).map((job) => (
        <li key={`${job.kind ?? ""} ${job.job?.id ?? ""}`}>
          <JobLink id={job.job?.id} name={job.job?.spec?.name} />{" "}
          <OwnerLink account={job.job?.spec?.account} user={job.job?.spec?.user} />{" "}
          <span className="figures">
            <Gpus milligpu={job.job?.milligpu} /> on {plural(job.nodeCount ?? 0, "node")}
            {job.end ? `, until ${time(job.end, now)}` : ""}
          </span>
        </li>
      ))}
    </ul>
  );
  return (
    <section className="card" aria-labelledby="chosen">
      <h2 id="chosen">
        Node <Name>{spec?.name}</Name> <button type="button" onClick={() => refine({ node: "" })}>Close</button>
      </h2>
      <Facts
        rows={[
          ["State", whyNot(node) || "ready"],
          ["GPUs", `${gpus(node.allocatedMilligpu)} of ${gpus(node.installedMilligpu)} in use, ${gpus(node.idleMilligpu)} idle`],
          ["Product", <Name>{spec?.product}</Name>],
          ["Place", shown(place(node))],
          ["MIG slices", (spec?.mig ?? []).map((mig) => `${mig.count ?? 0} × ${shown(mig.profile)}`).join(", ")],
          ["Planned drain", node.drainFrom ? `${time(node.drainFrom, now)}${node.drainUntil ? ` to ${time(node.drainUntil, now)}` : ""}` : ""],
        ]}
      />
      {here.length ? <><h3>Runs here</h3>{list(here)}</> : <p className="weak">No job runs here.</p>}
      {next.length ? <><h3>Starts here next, by the forecast</h3>{list(next)}</> : null}
      <p><a href={href(["plan"], { domain: spec?.name })}>Plan of this node</a></p>
    </section>
  );
}

export function Fleet({ query }: { query: URLSearchParams }) {
  const now = useNow();
  const cluster = query.get("cluster") ?? "";
  const chosen = query.get("node") ?? "";
  const words = (query.get("find") ?? "").toLowerCase();
  const read = useRead(`fleet ${cluster} ${chosen}`, (signal) => load(cluster, chosen, signal));
  const last = useLast(read.value, cluster);
  const nodes = last?.nodes ?? [];
  const rows = useMemo(
    () => nodes.filter((node) => `${node.spec?.name ?? ""} ${node.spec?.product ?? ""} ${place(node)} ${whyNot(node)}`.toLowerCase().includes(words)),
    [nodes, words],
  );
  const node = nodes.find((one) => one.spec?.name === chosen);
  const at = chosen ? rows.findIndex((one) => one.spec?.name === chosen) : undefined;
  const command = "subak cluster nodes" + (cluster || (last?.clusters.length ?? 0) > 1 ? ` --cluster ${cluster || "NAME"}` : "");
  return (
    <View title="Fleet" name="Fleet" read={read} command={command}>
      {last ? (
        <div className="fleet">
          <div>
            <FleetMap nodes={nodes} reserved={last.reserved} chosen={chosen} choose={(name) => refine({ node: name })} />
            {node ? <Chosen node={node} on={read.value?.on ?? []} now={now} /> : null}
            {chosen && !node ? <p className="problem" role="alert">There is no node <Name>{chosen}</Name>.</p> : null}
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
              columns={columns(now, last.reserved)}
              rowKey={(one) => `${one.cluster ?? ""} ${one.spec?.name ?? ""}`}
              rowClass={(one) => (one.spec?.name === chosen ? "own" : "")}
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

// Keeps the last nodes while a newly chosen node is read, so that the map stays in place.
function useLast(value: Picture | undefined, cluster: string): Picture | undefined {
  const last = useMemo(() => ({ value: undefined as Picture | undefined }), [cluster]);
  if (value) last.value = value;
  return last.value;
}
