// The address of a view: "/queue?account=ml.vision". It names all that the view shows, so it can be
// mailed. Names that may have a dot are in the query: the service takes a path with a dot for a file.
import { useSyncExternalStore } from "react";

export interface Route {
  // The name of the view and what it is about: ["job", "1-42"].
  path: string[];
  query: URLSearchParams;
}

export type Query = { [key: string]: string | undefined };

export const VIEWS = ["overview", "queue", "fleet", "plan", "teams", "team", "audit", "job"];

export function parseRoute(pathname: string, search: string): Route {
  const parts = pathname.split("/").filter(Boolean).map(decode);
  return { path: parts.length ? parts : ["overview"], query: new URLSearchParams(search) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// Returns the earlier moment of the present address: a time, or the number of a fact. "": the present.
export const momentOf = (): string => present().query.get("at") ?? "";

// Returns the address of a view. Empty and undefined values of the query are left out. The address keeps
// the moment, unless `query.at` sets another one ("" for the present).
export function href(path: string[], query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...query, at: query.at ?? momentOf() })) if (value) search.set(key, value);
  const text = search.toString();
  return "/" + path.map(encodeURIComponent).join("/") + (text ? "?" + text : "");
}

// Returns the address of an account, or of a user below it. "" is the root.
export function teamHref(account: string | undefined, user?: string): string {
  return href(["team"], { account, user });
}

const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of [...listeners]) listener();
}

export function go(to: string): void {
  history.pushState(null, "", to);
  tell();
}

// Changes a part of the present query, and adds no entry to the browser's history.
export function refine(change: Query): void {
  const { path, query } = present();
  history.replaceState(null, "", href(path, { ...Object.fromEntries(query), ...change }));
  tell();
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}

let last = "";
let route = parseRoute("", "");

function present(): Route {
  const now = window.location.pathname + window.location.search;
  if (now !== last) {
    last = now;
    route = parseRoute(window.location.pathname, window.location.search);
  }
  return route;
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, present);
}

// Follows links to views without loading the page again. Clicks with a modifier open a new tab, as
// everywhere.
function clicked(event: MouseEvent): void {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest("a");
  if (!link || link.origin !== window.location.origin || link.target) return;
  const view = link.pathname.split("/")[1];
  if (view !== "" && !VIEWS.includes(view)) return;
  event.preventDefault();
  go(link.pathname + link.search);
}

export function startRoutes(): void {
  window.addEventListener("popstate", tell);
  document.addEventListener("click", clicked);
}
