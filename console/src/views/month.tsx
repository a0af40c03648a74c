// The usage of an account in one month, as a page to print.
import type { LedgerRow, ReportUsageResponse, UsageRow } from "subak-api";
import { call } from "../call";
import { Name, View } from "../parts";
import { useRead } from "../read";
import { href } from "../route";
import { bounds, count, day, hours, instant, month as monthOf, owner, shown } from "../text";

const MOST_LINES = 400; // on the page; the command prints all

interface Picture {
  lines: ReportUsageResponse;
  days: ReportUsageResponse;
  first?: LedgerRow;
}

const fixed = (value: number) => value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

async function load(account: string, from: string, to: string, signal: AbortSignal) {
  const period = { account, from, to };
  const [lines, days, ledger] = await Promise.all([
    call("UsageService/ReportUsage", { ...period, byUser: true, byProduct: true }, signal),
    call("UsageService/ReportUsage", { ...period, byDay: true }, signal),
    call("UsageService/ListLedger", { ...period, pageSize: 1 }, signal),
  ]);
  const value: Picture = { lines: lines.value, days: days.value, first: ledger.value.rows?.[0] };
  return { value, sequence: lines.sequence };
}

function Lines({ rows, total }: { rows: UsageRow[]; total: number }) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="GPU-hours by user and product">
      <table className="plain figures">
        <thead>
          <tr><th scope="col">Account</th><th scope="col">User</th><th scope="col">Product</th><th scope="col" className="number">GPU-hours</th></tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_LINES).map((row) => (
            <tr key={`${row.account ?? ""}/${row.user ?? ""} ${row.product ?? ""}`}>
              <th scope="row"><Name>{row.account}</Name></th>
              <td className="text"><Name>{row.user}</Name></td>
              <td className="text"><Name>{row.product}</Name></td>
              <td>{fixed(hours(row.amount))}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr><th scope="row">Total</th><td /><td /><td>{fixed(total)}</td></tr>
        </tfoot>
      </table>
    </div>
  );
}

function Days({ usage }: { usage: ReportUsageResponse }) {
  const days = new Map<string, number>();
  for (const row of usage.rows ?? []) {
    const at = instant(row.day);
    if (at !== undefined) days.set(day(at), (days.get(day(at)) ?? 0) + hours(row.amount));
  }
  return (
    <table className="plain figures days">
      <thead><tr><th scope="col">UTC day</th><th scope="col" className="number">GPU-hours</th></tr></thead>
      <tbody>
        {[...days].sort().map(([at, value]) => (
          <tr key={at}><th scope="row">{at}</th><td>{fixed(value)}</td></tr>
        ))}
      </tbody>
    </table>
  );
}

function step(month: string, by: number): string {
  const at = bounds(month)?.from ?? new Date();
  return monthOf(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + by));
}

function Statement({ picture }: { picture: Picture }) {
  const { lines, days, first } = picture;
  const total = hours(lines.total);
  const running = hours(lines.running);
  return (
    <>
      <p>
        <b>{fixed(total)} GPU-hours</b> in the ledger
        {first ? `, entries ${first.sequence ?? ""} to ${lines.lastSequence ?? ""}` : ". The month has no entries"}.
        {running ? ` Jobs that hold GPUs now have ${fixed(running)} GPU-hours more, which are not in the total.` : ""}
      </p>
      <Lines rows={lines.rows ?? []} total={total} />
      <h2>By day</h2>
      <Days usage={days} />
      <p className="weak">
        The sums cover {count((lines.rows ?? []).length)} groups
        {(lines.rows ?? []).length > MOST_LINES ? `, of which the first ${MOST_LINES} are listed` : ""}. The command subak usage statement prints the statement with
        prices and the checksum over its entries.
      </p>
    </>
  );
}

export function Month({ account, month }: { account: string; month: string | null }) {
  const text = month ?? monthOf(Date.now());
  const span = bounds(text) ?? bounds(monthOf(Date.now()));
  const from = span?.from.toISOString() ?? "";
  const to = span?.to.toISOString() ?? "";
  const read = useRead(`month ${account} ${from}`, (signal) => load(account, from, to, signal), false);
  const days = `--from ${from.slice(0, 10)} --to ${to.slice(0, 10)}`;
  const command = `subak usage report${account ? ` --account ${account}` : ""} ${days} --by user,product`;
  const path = (name: string) => href(["team", "month"], { account, month: name });
  return (
    <View
      title={<>Usage of <Name>{owner(account, "")}</Name> in {shown(from.slice(0, 7))}</>}
      name={`Usage ${text}`}
      read={read}
      at={read.value?.lines.time}
      once
      command={command}
    >
      <p className="no-print">
        <a href={path(step(text, -1))}>Earlier month</a> · <a href={path(step(text, 1))}>Later month</a>{" "}
        <button type="button" onClick={() => window.print()}>Print</button>
      </p>
      {read.value ? <Statement picture={read.value} /> : null}
    </View>
  );
}
