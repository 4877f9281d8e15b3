import { requests, type ApiRequest } from "../generated/requests.ts";
import { call, callForEach, command, withQuery, type RequestWords } from "./copy-as.tsx";

interface Parts {
  /** Values of the parameters of the path, in their order. */
  readonly at?: readonly string[];
  readonly json?: unknown;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly cli?: string;
}

/**
 * A list by the filters that its page has in its address. `flagOf`: flags that have another name than their
 * field.
 */
export function listRequest(
  operation: keyof typeof requests,
  start: string,
  filter: Readonly<Record<string, string>> = {},
  flagOf: Readonly<Record<string, string>> = {},
): RequestWords {
  const words = Object.entries(filter).flatMap(([name, value]) => [`--${flagOf[name] ?? name}`, value]);
  return requestOf(operation, { query: filter, cli: command(start, ...words) });
}

/** An operation's request, and the TypeScript that makes it. */
export function requestOf(
  operation: keyof typeof requests,
  { at = [], json, query = {}, cli }: Parts = {},
): RequestWords {
  const { method, path, call: name, item }: ApiRequest = requests[operation];
  const values = at.values();
  const filled = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(values.next().value ?? ""));
  const asked = Object.keys(query).length === 0 ? [] : [query];
  const args = [...at, ...(json === undefined ? [] : [json]), ...asked];
  return {
    ...{ method, path: withQuery(filled, query) },
    ...(json !== undefined && { json }),
    ...(cli !== undefined && { cli }),
    typescript: item === undefined ? call(name, ...args) : callForEach(name, item, ...args),
  };
}
