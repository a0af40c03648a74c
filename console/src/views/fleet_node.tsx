// The node that was chosen on the map: its state, the jobs on its GPUs, and what starts there next.
import type { PlanJob } from "subak-api";
import { stateText } from "../fleet_colours";
import { Fleet, HELD, jobsOn, MapNode, RESERVED } from "../fleet_map";
import { Facts, Gpus, JobLink, Name, OwnerLink } from "../parts";
import { href, momentOf, refine } from "../route";
import { gpus, plural, shown, time } from "../text";

const MOST = 30; // jobs in a list

// Returns "block b1 / rack r7".
export const placeOf = (node: MapNode): string =>
  node.areas.filter(([kind]) => kind !== "product").map(([kind, name]) => `${kind} ${name}`).join(" / ");

function Jobs({ fleet, node, now }: { fleet: Fleet; node: MapNode; now: number }) {
  const jobs = jobsOn(fleet, node);
  if (!jobs.length) return <p className="weak">No job has GPUs here.</p>;
  return (
    <>
      <h3>Jobs on its GPUs</h3>
      <ul className="shares">
        {jobs.slice(0, MOST).map(({ job, milligpu, state }) => (
          <li key={`${state} ${job.id}`}>
            <JobLink id={job.id} /> {job.owner.account ? <OwnerLink {...job.owner} /> : <span className="weak">no account</span>}{" "}
            <span className="figures">
              <Gpus milligpu={milligpu} />
              {state === HELD || state === RESERVED ? `, ${stateText(state)}` : ""}
              {job.end ? `, until ${time(job.end, now)}` : ""}
            </span>
          </li>
        ))}
      </ul>
      {jobs.length > MOST ? <p className="weak">{plural(jobs.length - MOST, "more job")}.</p> : null}
    </>
  );
}

function Next({ jobs, now }: { jobs: PlanJob[]; now: number }) {
  if (!jobs.length) return null;
  return (
    <>
      <h3>Starts here next, by the forecast</h3>
      <ul className="shares">
        {jobs.slice(0, MOST).map((job) => (
          <li key={`${job.kind ?? ""} ${job.job?.id ?? ""}`}>
            <JobLink id={job.job?.id} name={job.job?.spec?.name} />{" "}
            <OwnerLink account={job.job?.spec?.account} user={job.job?.spec?.user} />{" "}
            <span className="figures">
              <Gpus milligpu={job.job?.milligpu} /> on {plural(job.nodeCount ?? 0, "node")}
              {job.start ? `, from ${time(job.start, now)}` : ""}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function drainText({ from, until }: { from?: number; until?: number }, now: number): string {
  return [from ? `from ${time(from, now)}` : "", until ? `until ${time(until, now)}` : ""].filter(Boolean).join(" ");
}

// `next`: the jobs that start there by the forecast.
export function ChosenNode(props: { fleet: Fleet; node: MapNode; next: PlanJob[]; now: number }) {
  const { fleet, node, next, now } = props;
  const idle = node.gpus * 1000 - node.held - node.closed;
  return (
    <section className="card" aria-labelledby="chosen">
      <h2 id="chosen">
        Node <Name>{node.name}</Name> <button type="button" onClick={() => refine({ node: "" })}>Close</button>
      </h2>
      <Facts
        rows={[
          ["State", shown(node.condition) || "ready"],
          ["GPUs", `${gpus(node.held)} of ${node.gpus} in use, ${gpus(Math.max(0, idle))} idle`],
          ["Product", <Name>{node.product}</Name>],
          ["Place", shown(placeOf(node))],
          ["MIG slices", node.slices.map((mig) => `${mig.count} × ${shown(mig.profile)}`).join(", ")],
          ["Drain", node.drain ? drainText(node.drain, now) : ""],
        ]}
      />
      <Jobs fleet={fleet} node={node} now={now} />
      <Next jobs={next} now={now} />
      {momentOf() ? null : <p><a href={href(["plan"], { domain: node.name })}>Plan of this node</a></p>}
    </section>
  );
}
