// The OpenAPI 3.1 document, made of the schemas that also validate.

import swagger from "@fastify/swagger";
import type { FastifyInstance } from "fastify";
import { documentAccess } from "./document-access.ts";
import { documentErrors, shareAnswers } from "./document-errors.ts";
import { documentAnswerHeaders, sharedHeaders } from "./answer-headers.ts";
import type { Operation, Operations } from "../api/operation.ts";
import { tags } from "../api/tags.ts";
import { withDefaultsInWords } from "./document-defaults.ts";
import { BYTES } from "../http/octet-stream-bodies.ts";
import { scopeReachTable } from "@skerry/contract/organizations/scope-reach";
import { IDEMPOTENCY_KEY_MAX_CHARS } from "@skerry/contract/bounds";

const tokens = `A token, \`sk_…\`. What its scopes reach, also in two steps:\n\n${scopeReachTable()}`;

export async function registerOpenapi(app: FastifyInstance, operations: Operations): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Skerry",
        version: "1.0.0",
        description: "A self-hosted control plane for running other people's code in microVMs.",
      },
      servers: [{ url: "http://127.0.0.1:7070" }],
      security: [{ bearer: [] }, { apiKey: [] }],
      components: {
        securitySchemes: {
          bearer: { type: "http", scheme: "bearer", description: tokens },
          apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
        },
      },
    },
    refResolver: {
      buildLocalReference: (schema, _base, _fragment, index) =>
        typeof schema["$id"] === "string" ? schema["$id"] : `schema${index}`,
    },
    transformObject: (document) => {
      if (!("openapiObject" in document)) throw new Error("this is an OpenAPI 3 document");
      // The document is plain JSON, and the edits below keep it a document.
      return completed(document.openapiObject as Json, operations) as typeof document.openapiObject;
    },
  });
}

type Json = { [key: string]: unknown };

/** Adds what the schemas of a route cannot say: raw bodies, event streams, what a caller needs, errors. */
function completed(document: Json, operations: Operations): Json {
  const plain = withDefaultsInWords(described(document)) as Json;
  const paths = inOrder(withNamedRests(plain["paths"] as Json), Object.keys(operations));
  plain["paths"] = paths;
  plain["tags"] = tags;
  const shared: Json = {};
  (plain["components"] as Json)["responses"] = shared;
  (plain["components"] as Json)["headers"] = sharedHeaders;
  const documented = Object.values(paths).flatMap((path) => Object.values(path as Json) as Json[]);
  for (const operation of documented) {
    const id = String(operation["operationId"]);
    const declared = operations[id];
    if (declared === undefined) throw new Error(`the operation "${id}" is not declared`);
    addStreams(operation, declared);
    documentAccess(operation, declared.access);
    addIdempotencyKey(operation);
    addVersion(operation, declared);
    documentAnswerHeaders(operation, declared.timing);
    addCreation(operation, declared);
    documentErrors(operation, declared.errors, shared);
  }
  shareAnswers(documented, shared);
  return plain;
}

const REST = "{*}";

/** The router calls the rest of a path `*`; in the document it is `path`. */
function withNamedRests(paths: Json): Json {
  const rests = Object.entries(paths).filter(([path]) => path.endsWith(REST));
  for (const operation of rests.flatMap(([, operations]) => Object.values(operations as Json)) as Json[]) {
    for (const parameter of operation["parameters"] as Json[]) {
      if (parameter["name"] === "*") parameter["name"] = "path";
    }
  }
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [path.replace(REST, "{path}"), operations]),
  );
}

/** Paths and their operations in the order of these ids. */
function inOrder(paths: Json, ids: readonly string[]): Json {
  const rank = (operation: unknown) => ids.indexOf(String((operation as Json)["operationId"]));
  const sorted = Object.entries(paths).map(([path, operations]) => {
    const own = Object.entries(operations as Json).toSorted(([, a], [, b]) => rank(a) - rank(b));
    return { path, first: rank(own[0]?.[1]), operations: Object.fromEntries(own) };
  });
  return Object.fromEntries(
    sorted.toSorted((a, b) => a.first - b.first).map(({ path, operations }) => [path, operations]),
  );
}

function addStreams(operation: Json, { body, events, answersBytes, rawField }: Operation): void {
  if (body === "bytes") operation["requestBody"] = { required: true, content: { [BYTES]: {} } };
  if (rawField !== undefined) {
    const { content, ...rest } = operation["requestBody"] as Json;
    operation["requestBody"] = { ...rest, content: { ...(content as Json), [BYTES]: {} } };
  }
  if (events === undefined && answersBytes !== true) return;
  const answer = (operation["responses"] as Json)["200"] as Json;
  if (answersBytes === true) {
    answer["content"] = {
      ...(answer["content"] as Json),
      [BYTES]: { schema: { type: "string", format: "binary" } },
    };
  }
  // Not in `content`: a generated client would have to expect events also where it asks for none.
  if (events !== undefined)
    answer["x-event-stream"] = { "text/event-stream": { schema: { type: "string" } } };
}

/** Not an answer of its own: a generated client would have to expect it also where it asks for none. */
function addCreation(operation: Json, { createsWhenAsked }: Operation): void {
  if (createsWhenAsked === undefined) return;
  const { $id: name } = createsWhenAsked;
  const answer = (operation["responses"] as Json)["200"] as Json;
  const headers = { ...(answer["headers"] as Json), "Idempotent-Replayed": REPLAYED };
  const content = { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } };
  answer["x-when-asked"] = { "201": { description: `It is a new ${name}.`, headers, content } };
  operation["parameters"] = [...((operation["parameters"] ?? []) as Json[]), IDEMPOTENCY_KEY];
}

/** What answers 201 creates, and what creates takes a key. */
function addIdempotencyKey(operation: Json): void {
  const answer = (operation["responses"] as Json)["201"] as Json | undefined;
  if (answer === undefined) return;
  operation["parameters"] = [...((operation["parameters"] ?? []) as Json[]), IDEMPOTENCY_KEY];
  answer["headers"] = { ...(answer["headers"] as Json | undefined), "Idempotent-Replayed": REPLAYED };
}

function addVersion(operation: Json, { versioned, method }: Operation): void {
  if (versioned !== true) return;
  const answer = (operation["responses"] as Json)["200"] as Json;
  answer["headers"] = { ...(answer["headers"] as Json | undefined), ETag: ETAG };
  if (method === "PUT" || method === "PATCH")
    operation["parameters"] = [...((operation["parameters"] ?? []) as Json[]), IF_MATCH];
}

const ETAG = {
  description: "The version of what is shown.",
  schema: { type: "string", pattern: '^"[0-9]+"$' },
  example: '"2"',
  required: true,
};

const IF_MATCH = {
  name: "If-Match",
  in: "header",
  required: false,
  schema: { type: "string" },
  example: '"2"',
  description:
    "The `ETag` of an earlier answer: where it has been changed since, nothing is done, and the answer is 412 with both versions.",
};

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  schema: { type: "string", minLength: 1, maxLength: IDEMPOTENCY_KEY_MAX_CHARS, pattern: "^[\\x21-\\x7e]+$" },
  description:
    "Makes it safe to send the request again: for 24 h the same request with the same key gets the first answer, and another request with it gets 409. A key belongs to a user in an organization; choose a new one, such as a random UUID, for each thing that you create.",
};

const REPLAYED = {
  description: "`true`: this is the answer to an earlier request with the same `Idempotency-Key`.",
  schema: { type: "string", enum: ["true"] },
};

/** Answers without a description of their own get a true one. */
function described(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(described);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      key === "description" && part === "Default Response" ? "The answer." : described(part),
    ]),
  );
}
