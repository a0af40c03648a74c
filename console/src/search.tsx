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

const MOST_ROWS = 5000; // rows of each kind that one search looks at
const MOST_HITS = 8;
const KEEP_MS = 30_000;
const JOB_ID = /^\d+-\d+$/;

// What a search looks at, read once and kept for half a minute.
interface Index {
  at: number;
  hits: Hit[];
}

let index: Promise<Index> | undefined;
let indexAt = 0;

async function read(): Promise<Index> {
  const [shares, status, jobs] = await Promise.all([
    call("AccountService/ListShares", { pageSize: MOST_ROWS }),
    call("AdminService/GetStatus", {}),
    pages("JobService/ListJobs", { pageSize: 1000 }, MOST_ROWS, (page) => page.jobs),
  ]);
  const hits: Hit[] = (shares.value.rows ?? []).map((row) => ({
    kind: row.user ? "user" : "account",
    text: owner(row.account, row.user),
    more: "",
    to: teamHref(row.account, row.user),
  }));
  for (const page of jobs.value.all) {
    for (const job of page.jobs ?? []) {
      const who = owner(job.spec?.account, job.spec?.user);
      const to = href(["job", job.id ?? ""]);
      hits.push({ kind: "job", text: job.id ?? "", more: `${job.spec?.name ?? ""} ${who}`, to });
    }
  }
  for (const cluster of status.value.clusters ?? []) {
    const request = { cluster: cluster.name, pageSize: 1000 };
    const nodes = await pages("ClusterService/ListNodes", request, MOST_ROWS, (page) => page.nodes);
    for (const page of nodes.value.all) {
      for (const node of page.nodes ?? []) {
        const name = node.spec?.name ?? "";
        const to = href(["fleet"], { cluster: cluster.name, node: name });
        hits.push({ kind: "node", text: name, more: cluster.name ?? "", to });
      }
    }
  }
  return { at: Date.now(), hits };
}

function indexNow(): Promise<Index> {
  if (!index || Date.now() - indexAt > KEEP_MS) {
    indexAt = Date.now();
    index = read();
    index.catch(() => (index = undefined));
  }
  return index;
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
    const ask = async () => {
      try {
        const hits = find((await indexNow()).hits, words);
        // A job that has ended is in no list.
        if (JOB_ID.test(words) && !hits.some((hit) => hit.text === words)) {
          hits.unshift({ kind: "job", text: words, more: "", to: href(["job", words]) });
        }
        if (!ended) setState({ hits, note: hits.length ? "" : "Nothing has this name." });
      } catch (error) {
        if (!ended) setState({ hits: [], note: String((error as Error).message) });
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
