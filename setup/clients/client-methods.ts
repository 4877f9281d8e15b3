// Methods of the clients for the plain operations of the API, from their declarations: `GET /v1/snapshots`,
// which is `listSnapshots`, is `snapshots.list`. An operation says by `client` where its method has another
// name, and that it has none. Streams, files, terminals and all of sandboxes and machines are written in
// each client.

import { resourceEventKinds, type ResourceEventKind } from "@skerry/contract/events/resource-event";
import { operations } from "../../packages/control/src/app/operations.ts";
import type { NamedSchema, Operation } from "../../packages/control/src/api/operation.ts";
import type { Schema } from "./schema-types.ts";

/** Collections whose path has another name than the clients have for them. */
const COLLECTIONS: Readonly<Record<string, string>> = { orgs: "organizations" };

/** Collections whose methods answer or take objects of the client. */
const BY_HAND: ReadonlySet<string> = new Set(["sandboxes", "machines"]);

export interface Parameter {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** Kinds of answers by their fields. */
const ANSWERS_OF_ITEMS: Readonly<Record<string, "page" | "items">> = {
  "items next_cursor": "page",
  items: "items",
};

/** Content of an answer: a page of items, all items, one thing, or nothing. */
export type Answer =
  | { readonly kind: "page" | "items"; readonly schema: NamedSchema; readonly item: Schema }
  | { readonly kind: "one"; readonly schema: NamedSchema }
  | { readonly kind: "nothing" };

export interface ClientMethod {
  readonly operationId: string;
  /** Undefined for the client's own methods. */
  readonly collection: string | undefined;
  /** Name in camel case. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With `{name}` for each parameter. */
  readonly path: string;
  readonly pathParameters: readonly string[];
  readonly body: { readonly schema: NamedSchema; readonly isOptional: boolean } | undefined;
  /** Without those of a page. */
  readonly query: readonly Parameter[];
  readonly answer: Answer;
  readonly creates: boolean;
  readonly summary: string;
  /** One or more sentences, in Markdown. */
  readonly doc: string;
  readonly errors: readonly string[];
  /** Needed of the token; undefined where any token, or none, will do. */
  readonly scope: string | undefined;
}

/** Collection whose items have a status, with the kind of their events. */
export interface Watched {
  readonly kind: ResourceEventKind;
  readonly item: NamedSchema;
  /** Parameter of `get`. */
  readonly parameter: string;
}

/** All generated methods, in the order of the document. */
export const clientMethods: readonly ClientMethod[] = Object.entries(operations).flatMap(
  ([id, operation]) => {
    const named = clientName(id, operation);
    return named === undefined ? [] : [clientMethod(id, operation, named)];
  },
);

/** Methods by their collection. */
export const collections: ReadonlyMap<string, readonly ClientMethod[]> = Map.groupBy(
  clientMethods.filter((method) => method.collection !== undefined),
  ({ collection }) => collection ?? "",
);

export const ownMethods = clientMethods.filter(({ collection }) => collection === undefined);

/** Collections that have further methods in each client, which are written by hand. */
export const extended: ReadonlySet<string> = new Set(
  Object.values(operations).flatMap((operation) =>
    operation.surface === "v1" && operation.client !== null && !isPlain(operation)
      ? [collectionOf(operation)]
      : [],
  ),
);

export function watchedOf(methods: readonly ClientMethod[]): Watched | undefined {
  const get = methods.find(({ name }) => name === "get");
  if (get?.answer.kind !== "one") return undefined;
  const { schema } = get.answer;
  const name = schema.$id.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
  const kind = resourceEventKinds.find((one) => one === name);
  const [parameter] = get.pathParameters;
  const hasStatus = (schema as Schema).properties?.["status"]?.enum !== undefined;
  return kind === undefined || parameter === undefined || !hasStatus
    ? undefined
    : { kind, item: schema, parameter };
}

/** The name of an operation's method, `collection.name` or `name`; undefined where none is generated. */
export function clientName(id: string, operation: Operation): string | undefined {
  if (operation.surface !== "v1" || operation.client === null || !isPlain(operation)) return undefined;
  if (operation.client !== undefined) return operation.client;
  const collection = collectionOf(operation);
  // `setOrganizationLimits` is `setLimits`.
  const noun = new RegExp(`${pascalCase(singular(collection))}(?:s|es)?(?=[A-Z]|$)`);
  return `${collection}.${id.replace(noun, "")}`;
}

function collectionOf({ path }: Operation): string {
  const [, segment = ""] = /^\/v1\/([a-z-]+)/.exec(path) ?? [];
  return COLLECTIONS[segment] ?? camelCase(segment);
}

function isPlain(operation: Operation): boolean {
  const { answers, body, client, events, method, path } = operation;
  return (
    client !== "by hand" &&
    !BY_HAND.has(collectionOf(operation)) &&
    method !== "ANY" &&
    body !== "bytes" &&
    events === undefined &&
    !path.endsWith("*") &&
    Object.entries(answers).every(([status, answer]) => status !== "101" && !("content" in answer))
  );
}

function clientMethod(operationId: string, operation: Operation, called: string): ClientMethod {
  const [name = "", collection] = called.split(".").toReversed();
  const { answers, body, description, path, query, summary } = operation;
  if (operation.method === "ANY" || body === "bytes") throw new Error(`${operationId} is not plain`);
  const answer = answerOf(answers[200] ?? answers[201] ?? answers[202] ?? answers[204]);
  return {
    operationId,
    collection,
    name,
    method: operation.method,
    path: path.replaceAll(/:(\w+)/g, "{$1}"),
    pathParameters: [...path.matchAll(/:(\w+)/g)].map(([, parameter = ""]) => parameter),
    body:
      body === undefined || body.$id === "NoFields"
        ? undefined
        : { schema: body, isOptional: operation.isBodyOptional === true },
    query: parametersOf(query).filter(
      (parameter) => answer.kind !== "page" || !["limit", "cursor"].includes(parameter.name),
    ),
    answer,
    creates: answers[201] !== undefined,
    summary,
    doc: [`${summary}.`, description ?? ""].join(" ").trim(),
    errors: operation.errors,
    scope: operation.access === "public" ? undefined : (operation.access.scope ?? undefined),
  };
}

function answerOf(answer: Operation["answers"][200]): Answer {
  if (answer === undefined || "content" in answer) throw new Error("an operation without a JSON answer");
  if (!("$id" in answer)) return { kind: "nothing" };
  const { properties = {} } = answer as Schema;
  const { items } = properties["items"] ?? {};
  const kind = ANSWERS_OF_ITEMS[Object.keys(properties).toSorted().join(" ")];
  return items === undefined || kind === undefined
    ? { kind: "one", schema: answer }
    : { kind, schema: answer, item: items };
}

export function parametersOf(schema: object | undefined): readonly Parameter[] {
  const { properties = {}, required = [] } = (schema ?? {}) as Schema;
  return Object.entries(properties).map(([name, part]) => ({
    name,
    schema: part,
    isRequired: required.includes(name),
  }));
}

export function camelCase(text: string): string {
  return text.replaceAll(/[-_ ]([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function pascalCase(text: string): string {
  const camel = camelCase(text);
  return camel.charAt(0).toUpperCase() + camel.slice(1);
}

export function snakeCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `builds` is `build`, and `registries` is `registry`. */
export function singular(plural: string): string {
  return plural.replace(/ies$/, "y").replace(/s$/, "");
}
