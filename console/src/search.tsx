// The search box: jobs by id, name and user, accounts, users and nodes.
import { KeyboardEvent, useEffect, useState } from "react";
import { call, pages } from "./call";
import { go, href, teamHref } from "./route";
import { owner, shown } from "./text";

interface Hit {
  kind: string;
  text: string;
  more: string;
  to: string;
}

const MOST_ROWS = 5000; // rows of each kind that a search looks at
const MOST_HITS = 8;
const JOB_ID = /^\d+-\d+$/;

// What a search looks at, of one kind. It is read once and kept for a while. It is of the present, even if
// the view shows an earlier moment.
interface Source {
  keepMs: number;
  read: () => Promise<{ hits: Hit[]; more: boolean }>;
  at: number;
  hits: Hit[];
  more: boolean;
  pending?: Promise<void>;
}

async function readAccounts() {
  const shares = await call("AccountService/ListShares", { pageSize: MOST_ROWS }, undefined, "");
  const hits: Hit[] = (shares.value.rows ?? []).map((row) => ({
    kind: row.user ? "user" : "account",
    text: owner(row.account, row.user),
    more: "",
    to: teamHref(row.account, row.user),
  }));
  return { hits, more: Boolean(shares.value.nextPageToken) };
}

async function readJobs() {
  const jobs = await pages("JobService/ListJobs", { pageSize: 1000 }, MOST_ROWS, (page) => page.jobs, undefined, "");
  const hits: Hit[] = jobs.value.all.flatMap((page) => page.jobs ?? []).map((job) => ({
    kind: "job",
    text: job.id ?? "",
    more: `${job.spec?.name ?? ""} ${owner(job.spec?.account, job.spec?.user)}`,
    to: href(["job", job.id ?? ""]),
  }));
  return { hits, more: jobs.value.more };
}

async function readNodes() {
  const clusters = await call("ClusterService/ListClusters", {}, undefined, "");
  const hits: Hit[] = [];
  let more = false;
  for (const { name: cluster } of clusters.value.clusters ?? []) {
    const nodes = await pages("ClusterService/ListNodes", { cluster, pageSize: 1000 }, MOST_ROWS, (page) => page.nodes, undefined, "");
    more ||= nodes.value.more;
    for (const node of nodes.value.all.flatMap((page) => page.nodes ?? [])) {
      const name = node.spec?.name ?? "";
      hits.push({ kind: "node", text: name, more: cluster ?? "", to: href(["fleet"], { cluster, node: name }) });
    }
  }
  return { hits, more };
}

const source = (keepMs: number, read: Source["read"]): Source => ({ keepMs, read, at: 0, hits: [], more: false });

const SOURCES = [source(30_000, readAccounts), source(30_000, readJobs), source(300_000, readNodes)];

// Reads the sources that are too old. Calls `changed` as each one comes.
function refresh(changed: () => void): Promise<unknown> {
  return Promise.all(
    SOURCES.map((one) => {
      if (Date.now() - one.at < one.keepMs) return undefined;
      one.pending ??= one
        .read()
        .then((got) => void Object.assign(one, got, { at: Date.now() }))
        .finally(() => (one.pending = undefined));
      return one.pending.then(changed);
    }),
  );
}

// Orders the hits: those whose text is or begins with the words come first.
function find(hits: Hit[], words: string): Hit[] {
  const low = words.toLowerCase();
  const grade = (hit: Hit) => {
    const text = hit.text.toLowerCase();
    if (text === low) return 0;
    if (text.startsWith(low)) return 1;
    if (text.includes(low)) return 2;
    return hit.more.toLowerCase().includes(low) ? 3 : 9;
  };
  const graded = hits.map((hit) => ({ hit, grade: grade(hit) })).filter((x) => x.grade < 9);
  graded.sort((a, b) => a.grade - b.grade);
  return graded.slice(0, MOST_HITS).map((x) => x.hit);
}

function useHits(words: string): { hits: Hit[]; note: string } {
  const [state, setState] = useState<{ hits: Hit[]; note: string }>({ hits: [], note: "" });
  useEffect(() => {
    let ended = false;
    if (!words) {
      setState({ hits: [], note: "" });
      return undefined;
    }
    const show = (done: boolean) => {
      if (ended) return;
      const hits = find(SOURCES.flatMap((one) => one.hits), words);
      // A job that has ended is in no list.
      if (JOB_ID.test(words) && !hits.some((hit) => hit.text === words)) {
        hits.unshift({ kind: "job", text: words, more: "", to: href(["job", words]) });
      }
      const limit = SOURCES.some((one) => one.more) ? ` among the first ${MOST_ROWS} of each kind` : "";
      setState({ hits, note: hits.length ? "" : done ? `Nothing has this name${limit}.` : "Searching …" });
    };
    const ask = async () => {
      try {
        show(false);
        await refresh(() => show(false));
        show(true);
      } catch (error) {
        if (!ended) setState({ hits: [], note: shown((error as Error).message) });
      }
    };
    const timer = window.setTimeout(() => void ask(), 80);
    return () => {
      ended = true;
      window.clearTimeout(timer);
    };
  }, [words]);
  return state;
}

export function Search({ input }: { input: React.RefObject<HTMLInputElement> }) {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const words = text.trim();
  const { hits, note } = useHits(words);
  const leave = () => {
    setText("");
    setOpen(false);
    input.current?.blur();
  };
  const take = (hit: Hit | undefined) => {
    if (!hit) return;
    go(hit.to);
    leave();
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "Escape") leave();
    else if (event.key === "Enter") take(hits[chosen]);
    else if (event.key === "ArrowDown") setChosen(Math.min(chosen + 1, hits.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(chosen - 1, 0));
    else return;
    event.preventDefault();
  };
  const shows = open && words !== "";
  return (
    <div className="search" role="search">
      <input
        ref={input}
        type="text"
        placeholder="Search  /"
        aria-label="Search for a job, account, user or node"
        role="combobox"
        aria-expanded={shows}
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant={shows && hits.length ? `hit-${chosen}` : undefined}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={pressed}
      />
      <ul id="hits" role="listbox" aria-label="Found" hidden={!shows || hits.length === 0}>
        {hits.map((hit, i) => (
          <li
            key={hit.to}
            id={`hit-${i}`}
            role="option"
            aria-selected={i === chosen}
            onMouseDown={() => take(hit)}
          >
            <span className="weak">{hit.kind}</span> <bdi>{shown(hit.text)}</bdi>{" "}
            <small><bdi>{shown(hit.more)}</bdi></small>
          </li>
        ))}
      </ul>
      <p role="status" className={shows && note ? "note" : "unseen"}>{shows ? note : ""}</p>
    </div>
  );
}
