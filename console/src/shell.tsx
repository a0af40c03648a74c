// The frame of all views: navigation, search, keys and the choice of colours.
import { useEffect, useRef, useState } from "react";
import { Help, KeyHandlers, useKeyboard } from "./keys";
import { readNow } from "./live";
import { askForMoment, MomentChoice, OnlyPresent, useMomentAsked } from "./moment";
import { Name } from "./parts";
import { go, href, Route, useRoute } from "./route";
import { Search } from "./search";
import { StatusLine } from "./status";
import { Audit } from "./views/audit";
import { Fleet } from "./views/fleet";
import { JobView } from "./views/job";
import { Month } from "./views/month";
import { Overview } from "./views/overview";
import { PlanView } from "./views/plan";
import { Queue } from "./views/queue";
import { Team } from "./views/team";
import { Teams } from "./views/teams";

const PAGES: [string, string][] = [
  ["overview", "Overview"],
  ["queue", "Queue"],
  ["fleet", "Fleet"],
  ["plan", "Plan"],
  ["teams", "Teams"],
  ["audit", "Audit"],
];

// The name of a view that needs more than facts, so that no earlier moment of it can be shown.
function onlyPresent(view: string, subject: string | undefined): string | undefined {
  if (view === "team" && subject === "month") return "Month";
  return { plan: "Plan", audit: "Audit" }[view];
}

function Body({ route }: { route: Route }) {
  const [view, subject] = route.path;
  const name = onlyPresent(view, subject);
  if (name && route.query.get("at")) return <OnlyPresent route={route} name={name} />;
  switch (view) {
    case "overview":
      return <Overview />;
    case "queue":
      return <Queue query={route.query} />;
    case "fleet":
      return <Fleet query={route.query} />;
    case "plan":
      return <PlanView query={route.query} />;
    case "teams":
      return <Teams />;
    case "team":
      return subject === "month" ? (
        <Month account={route.query.get("account") ?? ""} month={route.query.get("month")} />
      ) : (
        <Team query={route.query} />
      );
    case "audit":
      return <Audit query={route.query} />;
    case "job":
      return <JobView id={subject ?? ""} query={route.query} />;
    default:
      return (
        <>
          <h1 tabIndex={-1}>There is no such view</h1>
          <p className="problem" role="alert">
            There is no view “<Name>{view}</Name>”. <a href={href(["overview"])}>Go to the overview</a>
          </p>
        </>
      );
  }
}

type Colours = "auto" | "light" | "dark";

const NEXT: { [now in Colours]: Colours } = { auto: "light", light: "dark", dark: "auto" };

function stored(): Colours {
  const value = window.localStorage.getItem("subak-colours");
  return value === "light" || value === "dark" ? value : "auto";
}

function useColours(): [Colours, () => void] {
  const [colours, setColours] = useState<Colours>(stored);
  useEffect(() => {
    document.documentElement.dataset.colours = colours;
    window.localStorage.setItem("subak-colours", colours);
    window.dispatchEvent(new Event("subak-colours"));
  }, [colours]);
  return [colours, () => setColours(NEXT[colours])];
}

// Tells a screen reader that the view changed: the focus goes to its title.
function useFocus(route: Route, main: React.RefObject<HTMLElement>): void {
  const place = route.path.join("/") + (route.query.get("account") ?? "");
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) {
      main.current?.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    first.current = false;
  }, [place, main]);
}

function Navigation({ view }: { view: string }) {
  const of: { [view: string]: string } = { job: "queue", team: "teams" };
  return (
    <nav aria-label="Views">
      {PAGES.map(([page, name]) => (
        <a
          key={page}
          href={href([page])}
          aria-current={(of[view] ?? view) === page ? "page" : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  );
}

// Ends the session of this browser. Only pages over TLS have one.
function SignOut() {
  const leave = () => void fetch("/logout", { method: "POST" }).finally(() => window.location.assign("/login"));
  return <button type="button" className="link" onClick={leave}>Sign out</button>;
}

export function Shell() {
  const route = useRoute();
  const [help, setHelp] = useState(false);
  const [choice, setChoice] = useState(false);
  const [colours, nextColours] = useColours();
  const main = useRef<HTMLElement>(null);
  const search = useRef<HTMLInputElement>(null);
  useFocus(route, main);
  useMomentAsked(() => setChoice(true));
  const keys: KeyHandlers = {
    "/": () => search.current?.focus(),
    "?": () => setHelp(true),
    m: askForMoment,
    r: readNow,
    c: nextColours,
    "g o": () => go(href(["overview"])),
    "g q": () => go(href(["queue"])),
    "g f": () => go(href(["fleet"])),
    "g p": () => go(href(["plan"])),
    "g t": () => go(href(["teams"])),
    "g a": () => go(href(["audit"])),
  };
  useKeyboard(keys);
  return (
    <>
      <a className="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current?.focus(); }}>
        Skip to the view
      </a>
      <div className="top">
        <header>
          <a className="brand" href={href(["overview"])} aria-label="Subak, overview">
            <img src="/icon.svg" alt="" width="24" height="24" /> Subak
          </a>
          <Navigation view={route.path[0]} />
          <Search input={search} />
          <button type="button" onClick={nextColours} aria-label={`Colours: ${colours}. Change`} className="icon">
            {colours === "auto" ? "◐" : colours === "light" ? "○" : "●"}
          </button>
          <button type="button" onClick={askForMoment} aria-label="Show an earlier moment" className="icon">↶</button>
          <button type="button" onClick={() => setHelp(true)} aria-label="Keys" className="icon">?</button>
        </header>
        <StatusLine />
      </div>
      <main id="main" tabIndex={-1} ref={main} className={"view-" + route.path[0]}>
        <Body route={route} />
      </main>
      <footer>
        <a href="/metrics">Metrics</a> <a href="/readyz">Readiness</a> <a href="/licenses">Licences</a>
        {window.location.protocol === "https:" ? <SignOut /> : null}
        <button type="button" className="link" onClick={() => setHelp(true)}>Keys</button>
      </footer>
      {help ? <Help close={() => setHelp(false)} /> : null}
      {choice ? <MomentChoice close={() => setChoice(false)} /> : null}
    </>
  );
}
