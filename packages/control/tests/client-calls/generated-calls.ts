// Calls of the methods that are written by `setup/write-clients.ts`: with the parameters of the path and the body
// that the file beside it in `calls/` has for the operation.

import type { Skerry } from "@skerry/sdk";
import {
  clientMethods,
  snakeCase,
  camelCase,
  type ClientMethod,
} from "../../../../setup/clients/client-methods.ts";
import type { At } from "./client-call.ts";

export interface GeneratedCall {
  readonly sdk: (skerry: Skerry, at: At) => unknown;
  readonly python: (at: At) => string;
  /** Words after `skerry api`. The body is its standard input. */
  readonly api: (at: At) => readonly string[];
}

type Method = (...args: unknown[]) => unknown;

/** Calls by the id of their operation. */
export const generatedCalls: ReadonlyMap<string, GeneratedCall> = new Map(
  clientMethods.map((method) => [
    method.operationId,
    {
      sdk: (skerry, at) => sdkCall(method, skerry, at),
      python: (at) => pythonCall(method, at),
      api: (at) => apiCall(method, at),
    },
  ]),
);

/** A list is asked for page by page. */
function nameOf({ answer, name }: ClientMethod): string {
  if (answer.kind !== "page") return name;
  return name === "list" ? "page" : `${name}Page`;
}

function parameters({ pathParameters }: ClientMethod, at: At): string[] {
  return pathParameters.map((name) => String(at[name as keyof At]));
}

function sdkCall(method: ClientMethod, skerry: Skerry, at: At): unknown {
  const { body, collection } = method;
  const owner = collection === undefined ? skerry : Reflect.get(skerry, camelCase(collection));
  const called = Reflect.get(owner as object, nameOf(method)) as Method;
  return called.call(owner, ...parameters(method, at), ...(body === undefined ? [] : [at.body ?? {}]));
}

function pythonCall(method: ClientMethod, at: At): string {
  const { body, collection } = method;
  const owner = collection === undefined ? "skerry" : `skerry.${snakeCase(collection)}`;
  const args = parameters(method, at).map((value) => JSON.stringify(value));
  // JSON is an expression, as `call_batch.py` has the names of its words.
  if (body !== undefined) args.push(JSON.stringify(at.body ?? {}));
  const called = `${owner}.${snakeCase(nameOf(method))}`;
  return body === undefined ? `${called}(${args.join(", ")})` : `with_body(${called}, ${args.join(", ")})`;
}

function apiCall(method: ClientMethod, at: At): readonly string[] {
  const { body, collection, name } = method;
  const called = collection === undefined ? name : `${collection}.${name}`;
  return [called, ...parameters(method, at), ...(body === undefined ? [] : ["--from-file", "-"])];
}
