// The address of a view: "#/queue?account=ml.vision". It names all that the view shows, so it can
// be mailed.
import { useSyncExternalStore } from "react";

export interface Route {
  // The name of the view and what it is about: ["job", "1-42"].
  path: string[];
  query: URLSearchParams;
}

export type Query = { [key: string]: string | undefined };

export function parseRoute(hash: string): Route {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decode);
  return { path: parts.length ? parts : ["overview"], query: new URLSearchParams(query ?? "") };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// Returns the address of a view. Empty and undefined values of the query are left out.
export function href(path: string[], query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value) search.set(key, value);
  const text = search.toString();
  return "#/" + path.map(encodeURIComponent).join("/") + (text ? "?" + text : "");
}

export function go(to: string): void {
  window.location.hash = to;
}

// Changes a part of the present query, and adds no entry to the browser's history.
export function refine(change: Query): void {
  const { path, query } = parseRoute(window.location.hash);
  const all: Query = { ...Object.fromEntries(query), ...change };
  history.replaceState(null, "", href(path, all));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

let last = "\0";
let route = parseRoute("");

function present(): Route {
  if (window.location.hash !== last) {
    last = window.location.hash;
    route = parseRoute(last);
  }
  return route;
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, present);
}
