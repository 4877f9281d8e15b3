// Requests made from the OpenAPI document, right ones and broken ones, for every call of it. Whatever comes, the answer is one that
// the document knows, it comes soon, and it never says that the fault was ours.

import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import * as fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import type { OperationId } from "../src/app/operations.ts";
import { ApiDocument, documentedOperations, type Heard } from "./support/api-document.ts";
import { text, Values, type Json } from "./support/fuzz-values.ts";
import { sampledOperations } from "./support/sampled-operations.ts";
import { useWorld } from "./support/world.ts";

/** Always the same requests; another number gives others. */
const SEED = Number(process.env["SKERRY_FUZZ_SEED"] ?? 7_070);
const RUNS = Number(process.env["SKERRY_FUZZ_RUNS"] ?? 60);
const ANSWER_WITHIN_MS = 20_000;

interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: Json;
}

interface Request {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

const world = useWorld();
let document: ApiDocument;
let values: Values;
let calls: Readonly<Record<string, Call>>;
let ids: readonly string[];

beforeAll(async () => {
  const written = world.server.app.swagger() as unknown as {
    paths: Record<string, Record<string, Json>>;
    components: { schemas: Record<string, Json> };
  };
  document = new ApiDocument(written);
  values = new Values(written.components.schemas);
  calls = Object.fromEntries(
    Object.entries(written.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [
        String(operation["operationId"]),
        { method: method.toUpperCase(), path, operation },
      ]),
    ),
  );
  const token = await world.call<{ id: string }>("POST", "/v1/auth/tokens", { body: {} });
  await world.createSandbox({ name: "named" });
  await world.createMachine({ name: "named" });
  ids = [(await world.createSandbox()).id, token.body.id, world.orgId, "base", "named"];
});

function requestOf({ path, operation }: Call): fc.Arbitrary<Request> {
  const parameters = (operation["parameters"] ?? []) as Json[];
  const named = (place: string) => parameters.filter((parameter) => parameter["in"] === place);
  return fc.record({
    path: fc
      .tuple(fc.array(segment(), { minLength: 3, maxLength: 3 }), query(named("query")))
      .map(([segments, search]) => {
        let at = 0;
        return path.replaceAll(/\{\w+\}/g, () => segments[at++ % 3] ?? "") + search;
      }),
    headers: headers(named("header")),
    body: fc.oneof({ weight: 5, arbitrary: jsonBody(operation) }, text, fc.constant(undefined)),
  });
}

/** Mostly what exists: a call that finds nothing is over soon. */
function segment(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...ids) },
    text.map((part) => encodeURIComponent(part.toWellFormed())),
    fc.constantFrom("%", "%00", "%ff", "%2f", "a%2fb", ".", "..", "tmp/a", "*", ";", "a:b"),
  );
}

function query(parameters: readonly Json[]): fc.Arbitrary<string> {
  const known = parameters.map((parameter) =>
    fc
      .oneof(values.valid(parameter["schema"] as Json), text)
      .map((value) => `${String(parameter["name"])}=${encodeURIComponent(String(value).toWellFormed())}`),
  );
  const foreign = fc
    .tuple(text, text)
    .map((pair) => pair.map((part) => encodeURIComponent(part.toWellFormed())).join("="));
  return fc
    .array(fc.oneof(...known, foreign), { maxLength: 3 })
    .map((parts) => (parts.length === 0 ? "" : `?${parts.join("&")}`));
}

function headers(parameters: readonly Json[]): fc.Arbitrary<Record<string, string>> {
  const value = fc.oneof(text.map(headerValue), fc.constantFrom(...ids));
  const names = ["Accept", ...parameters.map((parameter) => String(parameter["name"]))];
  const odd = fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant({}) },
    fc.constant({ Accept: "text/event-stream" }),
    fc.constant({ "Content-Type": "text/plain" }),
    odd as fc.Arbitrary<Record<string, string>>,
  );
}

/** What Node's client would refuse to send is for http-abuse.test.ts. */
function headerValue(value: string): string {
  return value.replaceAll(/[^\x20-\x7e\xa0-\xff]/g, "?").slice(0, 4_000);
}

function jsonBody(operation: Json): fc.Arbitrary<string | undefined> {
  const content = ((operation["requestBody"] as Json | undefined)?.["content"] ?? {}) as Record<string, Json>;
  const schema = content["application/json"]?.["schema"] as Json | undefined;
  if (schema === undefined) return text;
  return fc.oneof(values.valid(schema), values.broken(schema)).map((value) => JSON.stringify(value));
}

async function heard(
  { method }: Call,
  { path, headers: extra, body }: Request,
): Promise<Heard & { headers: IncomingMessage["headers"] }> {
  const { hostname, port } = new URL(world.url);
  const request = httpRequest({
    ...{ hostname, port, method, path },
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    headers: {
      authorization: `Bearer ${world.token}`,
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      ...extra,
    },
  });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let answer = "";
  for await (const chunk of response.setEncoding("utf8")) {
    answer += String(chunk);
    // What follows is without an end.
    if (answer.includes("event: synced")) break;
  }
  return {
    ...{ method, path, text: answer, headers: response.headers },
    status: response.statusCode ?? 0,
    type: response.headers["content-type"] ?? "",
  };
}

/** An operation for each kind of answer, which is tried by every run: few answer with 201, 204 or 422. */
const kinds = {
  200: "listSizes",
  201: "createToken",
  204: "revokeToken",
  400: "getSandbox",
  404: "getSandbox",
  415: "createSandbox",
  422: "createSandbox",
} as const satisfies Readonly<Record<number, OperationId>>;

const tried = sampledOperations("fuzz", Object.values(kinds));

test.each(documentedOperations.filter(([id]) => tried.has(id as OperationId)))(
  "%s answers what the document says, whatever it is asked",
  async (name, { access }) => {
    const call = calls[name];
    if (call === undefined) throw new Error(`${name} is not in the document`);
    await fc.assert(
      fc.asyncProperty(requestOf(call), async (request) => {
        const answer = await heard(call, request);
        document.check(answer);
        expect(answer.headers["x-request-id"]).toBeDefined();
        // A host that is full says so honestly.
        if (!answer.text.includes('"no_capacity"'))
          expect(answer.status, answer.text.slice(0, 300)).toBeLessThan(500);
        if (access !== "public") expect(answer.status).not.toBe(401);
      }),
      { seed: SEED, numRuns: RUNS, endOnFailure: true },
    );
  },
);

test("the fuzzing has met every kind of answer, and has left the server as good as new", async () => {
  const logged = new Set(world.log.filter((line) => line["msg"] === "request").map((line) => line["status"]));
  expect([...logged]).toEqual(expect.arrayContaining(Object.keys(kinds).map(Number)));
  expect(world.log.filter((line) => line["msg"] === "a request failed unexpectedly")).toEqual([]);
  expect((await world.call("GET", "/v1/sizes")).status).toBe(200);
});
