// What of the address filters a list of sandboxes or of machines, as the page asks for it and as one would ask for it elsewhere.

import { callForEach, command, withQuery, type RequestWords } from "../ui/copy-as.tsx";
import { filtersOf } from "../ui/list-page.tsx";

interface VmListWords {
  readonly path: string;
  readonly command: string;
  /** Of the client, and what it gives. */
  readonly method: string;
  readonly item: string;
}

interface VmFilter<Filter> {
  /** As the address has it. */
  readonly given: Readonly<Record<string, string>>;
  readonly asked: Filter;
  /** VMs of a resource are left out: they are seen with that resource. */
  readonly hidesOwned: boolean;
  /** Another one is another list. */
  readonly key: string;
  readonly request: RequestWords;
}

const flagOf: Readonly<Record<string, string>> = { q: "search", created_after: "created-after" };

/** Those that are alive, unless a status is asked for or all that was made since a time. */
export function vmFilter<Filter>({ path, command: start, method, item }: VmListWords): VmFilter<Filter> {
  const given = filtersOf("status", "q", "template", "host", "owner", "created_after");
  const { created_after: createdAfter, ...plain } = given;
  const hasEnded = given["status"] !== undefined || createdAfter !== undefined;
  const alive = hasEnded ? {} : { alive: true };
  // The overview's numbers count owned VMs too, and lead to lists by status and time; a host's number leads to its own list.
  const showsAll = given["host"] !== undefined || hasEnded;
  const hidesOwned = (given["owner"] ?? (showsAll ? "any" : "none")) === "none";
  const owner = hidesOwned ? { owner: "none" } : {};
  const asked = { ...plain, ...(createdAfter !== undefined && { createdAfter }), ...alive, ...owner };
  return {
    given,
    // The address can say anything; the server refuses what is no filter.
    asked: asked as Filter,
    hidesOwned,
    key: JSON.stringify(asked),
    request: {
      method: "GET",
      path: withQuery(path, { ...given, ...alive, ...owner }),
      cli: command(start, ...flagsOf(given, hidesOwned)),
      typescript: callForEach(method, item, asked),
    },
  };
}

/** Flags for the same list on the command line, which has a default of its own for each filter. */
function flagsOf(given: Readonly<Record<string, string>>, hidesOwned: boolean): string[] {
  const words = Object.entries(given).flatMap(([name, value]) => [`--${flagOf[name] ?? name}`, value]);
  const isPlain = words.length === 0 || given["owner"] !== undefined;
  const owner = isPlain ? [] : ["--owner", hidesOwned ? "none" : "any"];
  const withEnded = given["created_after"] !== undefined && given["status"] === undefined ? ["--all"] : [];
  return [...words, ...owner, ...withEnded];
}
