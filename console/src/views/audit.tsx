// The audit log: who changed what, when and why, with the record before and after.
import { useCallback, useState } from "react";
import type { AuditEntry } from "subak-api";
import { call } from "../call";
import { Name, useMedia, useNow, View } from "../parts";
import { useRead } from "../read";
import { href, refine } from "../route";
import { Column, PHONE, Table } from "../table";
import { fieldsOf, instant, relative, shown, time } from "../text";

const PAGE = 200;

function Subject({ name }: { name: string | undefined }) {
  if (!name) return <>–</>;
  const job = /^\d+-\d+$/.test(name);
  return <a href={job ? href(["job", name]) : href(["audit"], { subject: name })}><Name>{name}</Name></a>;
}

const what = (entry: AuditEntry) => shown((entry.what ?? "").replaceAll("_", " "));

const columns = (now: number): Column<AuditEntry>[] => [
  {
    title: "Time", width: "12rem", phone: "left",
    cell: (entry) => (
      <a href={href(["audit"], { entry: entry.sequence })} onClick={(event) => { event.preventDefault(); refine({ entry: entry.sequence }); }}>
        {time(entry.time, now)}
        <small>{relative(instant(entry.time) ?? now, now)}</small>
      </a>
    ),
  },
  { title: "Who", width: "minmax(7rem, .7fr)", phone: "right", cell: (entry) => <Name>{entry.actor}</Name> },
  {
    title: "What", width: "minmax(8rem, .9fr)", phone: "left",
    cell: (entry) => <>{what(entry)} {entry.refused ? <span className="tag warn">refused</span> : null}</>,
  },
  { title: "Subject", width: "minmax(8rem, 1fr)", phone: "right", cell: (entry) => <Subject name={entry.subject} /> },
  { title: "Why", width: "minmax(8rem, 1.2fr)", phone: "full", cell: (entry) => <Name>{entry.reason}</Name> },
];

function Change({ entry, now }: { entry: AuditEntry; now: number }) {
  const before = fieldsOf(entry.before);
  const after = fieldsOf(entry.after);
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return (
    <section className="card" aria-labelledby="entry">
      <h2 id="entry">
        {what(entry)} <Name>{entry.subject}</Name>{" "}
        <button type="button" onClick={() => refine({ entry: "" })}>Close</button>
      </h2>
      <p>
        <Name>{entry.actor}</Name>, {time(entry.time, now)}, fact {entry.sequence}: <Name>{entry.reason}</Name>
        {entry.requestId ? <span className="weak"> (request <Name>{entry.requestId}</Name>)</span> : null}
      </p>
      {entry.refused ? <p className="problem">Refused: <Name>{entry.refused}</Name></p> : null}
      <div className="scroll" tabIndex={0} role="region" aria-label="Fields before and after">
        <table className="plain">
          <thead><tr><th scope="col">Field</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
          <tbody>
            {names.map((name) => {
              const changed = before.get(name) !== after.get(name);
              return (
                <tr key={name} className={changed ? "own" : ""}>
                  <th scope="row"><Name>{name}</Name>{changed ? <span className="unseen"> (changed)</span> : null}</th>
                  <td><Name>{before.get(name) ?? "–"}</Name></td>
                  <td><Name>{after.get(name) ?? "–"}</Name></td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface Log {
  entries: AuditEntry[];
  token: string;
}

function useLog(subject: string) {
  const [more, setMore] = useState<{ subject: string; log?: Log }>({ subject });
  const first = useRead(`audit ${subject}`, async (signal) => {
    const answer = await call("AdminService/ListAudit", { subject, pageSize: PAGE }, signal);
    return { value: { entries: answer.value.entries ?? [], token: answer.value.nextPageToken ?? "" }, sequence: answer.sequence };
  });
  // Later pages follow the entries that the first page had when they were read. Newer entries come on top.
  const old = more.subject === subject ? more.log : undefined;
  const newest = first.value?.entries ?? [];
  const oldest = newest.length ? Number(newest[newest.length - 1].sequence) : Infinity;
  const entries = old ? [...newest, ...old.entries.filter((entry) => Number(entry.sequence) < oldest)] : newest;
  const token = old ? old.token : (first.value?.token ?? "");
  const next = useCallback(() => {
    if (!token) return;
    call("AdminService/ListAudit", { subject, pageSize: PAGE, pageToken: token })
      .then((answer) => setMore((now) => ({
        subject,
        log: {
          entries: [...(now.subject === subject ? (now.log?.entries ?? newest) : newest), ...(answer.value.entries ?? [])],
          token: answer.value.nextPageToken ?? "",
        },
      })))
      .catch(() => undefined);
  }, [subject, token]);
  return { first, entries, token, next };
}

export function Audit({ query }: { query: URLSearchParams }) {
  const now = useNow();
  const phone = useMedia(PHONE);
  const subject = query.get("subject") ?? "";
  const { first, entries, token, next } = useLog(subject);
  const chosen = entries.find((entry) => entry.sequence === query.get("entry"));
  const command = "subak audit" + (subject ? ` --subject ${subject}` : "");
  return (
    <View title="Audit" name="Audit" read={first} command={command}>
      <form className="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
        <label htmlFor="subject">
          Account, job, node or cluster
          <input id="subject" value={subject} spellCheck={false} onChange={(event) => refine({ subject: event.target.value })} />
        </label>
        {subject ? <button type="button" onClick={() => refine({ subject: "" })}>Show all</button> : null}
      </form>
      {chosen ? <Change entry={chosen} now={now} /> : null}
      {first.value ? (
        <Table
          label="Edits, newest first"
          rows={entries}
          columns={columns(now)}
          rowKey={(entry) => entry.sequence ?? ""}
          rowClass={(entry) => (entry === chosen ? "own" : "")}
          height={phone ? 88 : 44}
          total={entries.length + (token ? 1 : 0)}
          onEnd={token ? next : undefined}
          empty={subject ? "No edit has this subject." : "There were no edits."}
        />
      ) : null}
    </View>
  );
}
