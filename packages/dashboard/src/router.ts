// Which page is shown, by the address: the link to a page shows another person the same.

import { computed, signal } from "@preact/signals";

/** Where control serves the dashboard. */
export const BASE = "/ui";

interface Place {
  readonly path: string;
  readonly query: string;
}

const place = signal<Place>(currentPlace());

/** Below `BASE`, such as `/sandboxes/sbx_…/egress`. */
export const path = computed(() => place.value.path);
export const query = computed(() => new URLSearchParams(place.value.query));

/** Listens to links and to the buttons of the browser. Call it once. */
export function startRouter(): void {
  addEventListener("popstate", () => (place.value = currentPlace()));
  document.addEventListener("click", (event) => {
    const address = addressOfClick(event);
    if (address === undefined) return;
    event.preventDefault();
    go(address);
  });
}

/** To a path below `BASE`, with or without a query. */
export function go(to: string, { replace = false } = {}): void {
  const address = BASE + to;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  const before = path.peek();
  place.value = currentPlace();
  if (path.peek() !== before) scrollTo(0, 0);
}

/** Changes fields of the query in place; undefined and an empty one go. */
export function setQuery(fields: Readonly<Record<string, string | undefined>>): void {
  const changed = new URLSearchParams(place.peek().query);
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === "") changed.delete(name);
    else changed.set(name, value);
  }
  const text = changed.toString();
  go(path.peek() + (text === "" ? "" : `?${text}`), { replace: true });
}

export const href = (to: string): string => BASE + to;

/** The `:name` parts of a page's address. */
export type Params = Readonly<Record<string, string>>;

/** What stands in the place of the pattern's `:name` parts, or undefined where the path is another one. */
export function matchPath(pattern: string, found: string): Params | undefined {
  const wanted = pattern.split("/");
  const parts = found.split("/");
  if (wanted.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = parts[index] ?? "";
    if (!part.startsWith(":")) {
      if (part !== value) return undefined;
    } else if (value === "") return undefined;
    else params[part.slice(1)] = decoded(value);
  }
  return params;
}

/** What is no encoding of anything is itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function currentPlace(): Place {
  const below = location.pathname.slice(BASE.length).replace(/\/+$/, "");
  return { path: below === "" ? "/" : below, query: location.search.slice(1) };
}

/** Where a click leads within the dashboard; undefined where the browser shall do as it does. */
function addressOfClick(event: MouseEvent): string | undefined {
  if (event.defaultPrevented || isMoreThanClick(event)) return undefined;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null || link.target !== "" || link.hasAttribute("download")) return undefined;
  const url = new URL(link.href);
  const isOurs = url.origin === location.origin && url.pathname.startsWith(`${BASE}/`) && url.hash === "";
  return isOurs ? url.pathname.slice(BASE.length) + url.search : undefined;
}

/** One that opens a tab or a window, or saves. */
function isMoreThanClick({ button, ctrlKey, metaKey, shiftKey, altKey }: MouseEvent): boolean {
  return button !== 0 || ctrlKey || metaKey || shiftKey || altKey;
}
