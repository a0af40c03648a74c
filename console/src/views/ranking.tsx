// The arithmetic that decides the position of a job, level by level of the account tree.
import type { RankStep, RankStep_Entry } from "subak-api";
import { Name } from "../parts";
import { teamHref } from "../route";
import { gpus, hoursText, int, percent, real } from "../text";

const MOST = 12; // siblings in a level's table

// The siblings to show: the first ones, and those around the job's own.
function near(entries: RankStep_Entry[]): { entry: RankStep_Entry; rank: number }[] {
  const ranked = entries.map((entry, i) => ({ entry, rank: i + 1 }));
  if (ranked.length <= MOST) return ranked;
  const own = ranked.findIndex((row) => row.entry.onPath);
  return ranked.filter((_, i) => i < MOST / 2 || Math.abs(i - own) <= 2);
}

// Returns (allocated + next / 2) / target in GPUs per GPU share, which target-share compares.
function ratio(entry: RankStep_Entry): string {
  const next = int(entry.nextMilligpu);
  const target = real(entry.target);
  if (!next || !target) return "–";
  return ((int(entry.allocatedMilligpu) + next / 2) / 1000 / target).toFixed(1);
}

function Level({ step, level }: { step: RankStep; level: number }) {
  const entries = step.entries ?? [];
  const rows = near(entries);
  const parent = step.parent || "the root";
  return (
    <>
      <h3 id={`level-${level}`}>Below <Name>{parent}</Name></h3>
      <div className="scroll" tabIndex={0} role="region" aria-labelledby={`level-${level}`}>
        <table className="plain figures">
          <thead>
            <tr>
              {["", "Account", "Share", "Target", "Has", "½ next", "Compared", "Quota", "Used", "Above quota"].map((title) => (
                <th key={title} scope="col" className={title && title !== "Account" ? "number" : ""}>{title || <span className="unseen">Place</span>}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ entry, rank }) => (
              <tr key={entry.path} className={entry.onPath ? "own" : ""}>
                <td>{rank}</td>
                <th scope="row">
                  <a href={accountHref(entry.path ?? "")}><Name>{entry.path}</Name></a>
                  {entry.onPath ? <span className="tag">this job</span> : null}
                </th>
                <td>{percent(real(entry.shares))}</td>
                <td>{percent(real(entry.target))}</td>
                <td>{gpus(entry.allocatedMilligpu)}</td>
                <td>{int(entry.nextMilligpu) ? gpus(int(entry.nextMilligpu) / 2) : "–"}</td>
                <td>{ratio(entry)}</td>
                <td>{gpus(entry.quotaMilligpu)}</td>
                <td>{hoursText(real(entry.usageGpuSeconds) / 3600)}</td>
                <td>{hoursText(real(entry.surplusGpuSeconds) / 3600)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length < entries.length ? <p className="weak">{entries.length - rows.length} more are not shown.</p> : null}
    </>
  );
}

export function accountHref(path: string): string {
  const [account, user] = path.split("/");
  return teamHref(account === "(root)" ? "" : account, user);
}

export function Ranking({ steps }: { steps: RankStep[] }) {
  if (!steps.length) return null;
  return (
    <section aria-labelledby="ranking">
      <h2 id="ranking">What decides its position</h2>
      <p className="weak">
        The first row of each table comes first. Share and target are parts of the whole fleet. Where no quota
        covers the next job, the order compares (has + ½ next) / target: the lower figure comes first.
      </p>
      {steps.map((step, level) => <Level key={level} step={step} level={level} />)}
    </section>
  );
}
