// All accounts: what each is due, and what it has.
import type { ShareRow } from "subak-api";
import { pages } from "../call";
import { Bar, OwnerLink, View } from "../parts";
import { useRead } from "../read";
import { Column, Table } from "../table";
import { count, factor, gpus, hours, hoursText, int, percent, real } from "../text";

const MOST = 20_000;

const held = (row: ShareRow) => int(row.heldMilligpu) + int(row.runningMilligpu);
const depth = (row: ShareRow) =>
  row.account ? row.account.split(".").length + (row.user ? 1 : 0) : 0;

const columns = (whole: number): Column<ShareRow>[] => [
  {
    title: "Account", width: "minmax(10rem, 1.6fr)", phone: "left",
    cell: (row) => (
      <span style={{ paddingLeft: `${depth(row) * 0.9}rem` }}>
        <OwnerLink account={row.account} user={row.user} />
      </span>
    ),
  },
  { title: "Share", width: "5.5rem", number: true, cell: (row) => percent(real(row.normShares)) },
  { title: "Recent use", width: "6rem", number: true, cell: (row) => percent(real(row.effectiveUsage)) },
  { title: "Share ÷ use", width: "6rem", number: true, cell: (row) => factor(row.levelFs) },
  {
    title: "Holds", width: "minmax(9rem, 1fr)", phone: "right",
    cell: (row) => (
      <>
        {gpus(held(row))} GPUs
        <Bar whole={whole} parts={[{ className: "runs", value: held(row) }]} />
      </>
    ),
  },
  { title: "Quota", width: "4.5rem", number: true, cell: (row) => gpus(row.quotaMilligpu) },
  { title: "Borrows", width: "5rem", number: true, cell: (row) => gpus(row.borrowedMilligpu) },
  { title: "Lends", width: "4.5rem", number: true, cell: (row) => gpus(row.lentMilligpu) },
  {
    title: "Waiting", width: "minmax(8rem, .8fr)", phone: "left",
    cell: (row) =>
      int(row.queuedJobs) ? `${count(int(row.queuedJobs))} jobs, ${gpus(row.queuedMilligpu)} GPUs` : "–",
  },
  { title: "Used in all", width: "7rem", number: true, phone: "right", cell: (row) => hoursText(hours(row.usageTotal)) },
];

export function Teams() {
  const read = useRead("teams", async (signal) => {
    const request = { pageSize: 5000 };
    const answer = await pages("AccountService/ListShares", request, MOST, (page) => page.rows, signal);
    const rows = answer.value.all.flatMap((page) => page.rows ?? []);
    return { value: { rows, time: answer.value.all[0]?.time }, sequence: answer.sequence, moment: answer.moment };
  });
  const rows = read.value?.rows ?? [];
  const whole = rows.length ? held(rows[0]) : 0;
  return (
    <View title="Teams" name="Teams" read={read} at={read.value?.time} command="subak share">
      {read.value ? (
        <Table
          label="Accounts and users, parents first"
          rows={rows}
          columns={columns(whole)}
          rowKey={(row) => `${row.account ?? ""}/${row.user ?? ""}`}
          height={40}
          phoneHeight={70}
          empty="There are no accounts."
        />
      ) : null}
    </View>
  );
}
