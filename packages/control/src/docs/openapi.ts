// The OpenAPI 3.1 document, made of the schemas that also validate.

import swagger from "@fastify/swagger";
import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import { documentAccess } from "./openapi-access.ts";
import { documentErrors } from "./openapi-errors.ts";
import type { VmResource } from "../vms/vm-resource.ts";
import { IDEMPOTENCY_KEY_MAX_CHARS } from "@skerry/contract/limits";

export async function registerOpenapi(
  app: FastifyInstance,
  vmResources: readonly VmResource[],
): Promise<void> {
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
          bearer: { type: "http", scheme: "bearer", description: "A token, `sk_…`." },
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
      return completed(document.openapiObject as Json, vmResources) as typeof document.openapiObject;
    },
  });
}

export function openapiRoute(app: FastifyInstance): void {
  // Written once: it is the same for everybody, and large.
  let text: string | undefined;
  app.get(
    "/v1/openapi.json",
    {
      schema: {
        operationId: "getOpenapi",
        tags: ["platform"],
        summary: "This document",
        response: { 200: Type.Object({}, { description: "OpenAPI 3.1." }) },
      },
    },
    (_request, reply) => {
      text ??= JSON.stringify(app.swagger());
      return reply.type("application/json; charset=utf-8").serializer(asItIs).send(text);
    },
  );
}

function asItIs(text: string): string {
  return text;
}

type Json = { [key: string]: unknown };

/** What a schema of a route cannot say: raw bodies, event streams, the name of a path's rest. */
function completed(document: Json, vmResources: readonly VmResource[]): Json {
  const plain = described(document) as Json;
  const paths = plain["paths"] as Json;
  for (const { path } of vmResources) {
    const files = paths[`${path}/{id}/files/{*}`] as Json;
    delete paths[`${path}/{id}/files/{*}`];
    paths[`${path}/{id}/files/{path}`] = withRawBodies(files);
    addEventStream(paths, `${path}/{id}/execute`, "post");
  }
  addEventStream(paths, "/v1/machines/{id}/logs", "get");
  const shared: Json = {};
  (plain["components"] as Json)["responses"] = shared;
  for (const path of Object.values(paths)) {
    for (const operation of Object.values(path as Json) as Json[]) {
      documentAccess(operation);
      addIdempotencyKey(operation);
      documentErrors(operation, shared);
    }
  }
  return plain;
}

function addEventStream(paths: Json, path: string, method: string): void {
  const responses = ((paths[path] as Json)[method] as Json)["responses"] as Json;
  addContent(responses["200"] as Json, "text/event-stream", { type: "string" });
}

const RAW = "application/octet-stream";

function withRawBodies(files: Json): Json {
  for (const operation of Object.values(files) as Json[]) {
    for (const parameter of operation["parameters"] as Json[]) {
      if (parameter["name"] === "*") parameter["name"] = "path";
    }
  }
  (files["put"] as Json)["requestBody"] = { required: true, content: { [RAW]: {} } };
  const found = ((files["get"] as Json)["responses"] as Json)["200"] as Json;
  found["content"] = { "application/json": { schema: LISTING }, [RAW]: {} };
  return files;
}

const LISTING = { $ref: "#/components/schemas/DirectoryListing" };

function addContent(response: Json, type: string, schema: Json): void {
  response["content"] = { ...(response["content"] as Json), [type]: { schema } };
}

/** What answers 201 creates, and what creates takes a key. */
function addIdempotencyKey(operation: Json): void {
  const answer = (operation["responses"] as Json)["201"] as Json | undefined;
  if (answer === undefined) return;
  operation["parameters"] = [...((operation["parameters"] ?? []) as Json[]), IDEMPOTENCY_KEY];
  answer["headers"] = { ...(answer["headers"] as Json | undefined), "Idempotent-Replayed": REPLAYED };
}

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
