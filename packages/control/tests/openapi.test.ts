// The OpenAPI document: complete, true to itself, and with an example of everything. That it is true to the server is held by every
// other test, whose answers are checked against it (documented.ts).

import { Compile } from "typebox/schema";
import { beforeAll, expect, test } from "vitest";
import { ApiDocument } from "./support/api-document.ts";
import { useWorld } from "./support/world.ts";

type Json = Readonly<Record<string, unknown>>;

interface Described extends Json {
  readonly tags?: readonly string[];
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly responses: Readonly<Record<string, Json>>;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Json }>> };
}

const world = useWorld();
let components: { readonly schemas: Readonly<Record<string, Json>> };
let described: readonly Described[];
let document: Json & { readonly tags: readonly { readonly name: string; readonly description: string }[] };
let tags: (typeof document)["tags"];
beforeAll(async () => {
  const { body } = await world.call<{ openapi: string; paths: Json; components: typeof components }>(
    "GET",
    "/v1/openapi.json",
  );
  expect(body.openapi).toBe("3.1.0");
  ({ components } = body);
  document = body as unknown as typeof document;
  ({ tags } = document);
  described = Object.values(body.paths).flatMap((path) => Object.values(path as Record<string, Described>));
});

test("every schema has an example that it accepts", () => {
  for (const [name, schema] of Object.entries(components.schemas)) {
    const examples = (schema["examples"] ?? []) as unknown[];
    expect(
      examples.filter((example) => example !== undefined && example !== null),
      name,
    ).toHaveLength(1);
    const shape = Compile({ $ref: `#/components/schemas/${name}`, components });
    expect(shape.Errors(examples[0])[1], name).toEqual([]);
  }
});

test("every call says what it does, what it takes, and which errors it can answer", () => {
  expect(described.length).toBeGreaterThan(15);
  for (const call of described) {
    const { operationId, summary, responses, requestBody } = call;
    expect(summary, operationId).toMatch(/^[A-Z`]/);
    const statuses = Object.keys(responses);
    // What may go on after the answer says so by 202.
    expect(
      statuses.filter((status) => /^(2\d\d|101)$/.test(status) && status !== "202"),
      operationId,
    ).toHaveLength(1);
    expect(
      statuses.filter((status) => !/^([2-5]\d\d|101)$/.test(status)),
      operationId,
    ).toEqual([]);
    expect(statuses, operationId).toEqual(expect.arrayContaining(["400", "500", "503"]));
    // What is JSON has a name, and with the name an example.
    const { schema } = requestBody?.content["application/json"] ?? {};
    if (schema !== undefined) expect(schema["$ref"], operationId).toMatch(/^#\/components\/schemas\//);
  }
});

test("an error answer that several calls have is written once", () => {
  const errors = described.flatMap(({ responses }) =>
    Object.entries(responses).filter(([status]) => Number(status) >= 400),
  );
  const own = errors.filter(([, answer]) => !Object.hasOwn(answer, "$ref"));
  const texts = own.map(([, answer]) => JSON.stringify(answer));
  expect(own.length).toBeLessThan(errors.length / 2);
  expect(texts).toHaveLength(new Set(texts).size);
});

test("calls come in the order of use, each of a tag that says what it is", () => {
  const order = described.map(({ tags = [] }) => tags[0] ?? "");
  expect([...new Set(order)]).toEqual(tags.map(({ name }) => name));
  expect(order, "the calls of a tag stand together").toEqual(
    tags.flatMap(({ name }) => order.filter((tag) => tag === name)),
  );
  expect(described[0]?.operationId).toBe("createSandbox");
  expect(described.at(-1)?.operationId).toBe("getHealth");
  for (const { name, description } of tags) expect(description, name).toMatch(/^[A-Z].*\.$/);
});

test("a call is named by its deed, in a few words", () => {
  const summaries = described.map(({ summary = "" }) => summary);
  expect(summaries.filter((summary) => !/^[A-Z][a-z]+( [a-z]+){1,9}$/.test(summary))).toEqual([]);
  expect(new Set(summaries).size).toBe(summaries.length);
});

test("defaults are said in words: a generated client would take a field that has one for one that must be sent", () => {
  expect(JSON.stringify(document)).not.toContain('"default":');
  const field = (schema: string, name: string) =>
    (components.schemas[schema] as { properties: Record<string, Json> }).properties[name]?.["description"];
  expect(field("SandboxCreateRequest", "timeout")).toContain("Default: `5m`.");
  expect(field("SandboxCreateRequest", "size")).toContain("Default: `shared-cpu-1x`.");
  expect(field("ExecuteRequest", "timeout")).toContain("Default: `30s`.");
  expect(JSON.stringify(components.schemas["MachineCreateRequest"])).toContain("Default: `on-failure`.");
  const list = described.find(({ operationId }) => operationId === "listSandboxes") as unknown as {
    parameters: Json[];
  };
  expect(list.parameters.find(({ name }) => name === "limit")).toMatchObject({
    description: "Default: `50`.",
  });
});

test("no schema is a union: its serializer would be compiled when the first caller waits for an answer", () => {
  expect(JSON.stringify(components.schemas)).not.toMatch(/"(anyOf|oneOf|if)":/);
});

test("an answer that the document does not know is found out", () => {
  const document = new ApiDocument(world.server.app.swagger());
  const headers = { ratelimit: '"read";r=1;t=1', "ratelimit-policy": '"read";q=60;w=60;burst=2' };
  const heard = {
    ...{ method: "GET", path: "/v1/sandboxes/sbx_1", type: "application/json; charset=utf-8", headers },
  };
  const fault = (status: number, body: unknown) =>
    document.faultOf({ ...heard, status, text: JSON.stringify(body) });
  expect(fault(404, { code: "sandbox_not_found", message: "There is none." })).toBeUndefined();
  expect(fault(404, { code: "file_not_found", message: "There is none." })).toContain("enum");
  expect(fault(404, { code: "sandbox_not_found" })).toContain("message");
  expect(fault(418, {})).toContain("not documented");
  expect(fault(200, {})).toContain("required");
  expect(document.faultOf({ ...heard, status: 404, type: "text/html", text: "" })).toContain("text/html");
});

test("a header that tells of limits is found out where it is missing, not documented or of another form", () => {
  const document = new ApiDocument(world.server.app.swagger());
  const limits = { ratelimit: '"read";r=1;t=1', "ratelimit-policy": '"read";q=60;w=60;burst=2' };
  const heard = { method: "GET", type: "application/json; charset=utf-8" };
  const fault = (path: string, status: number, headers: Record<string, string>, body: unknown) =>
    document.faultOf({ ...heard, path, status, headers, text: JSON.stringify(body) });
  const error = (code: string) => ({ code, message: "It is refused." });
  expect(fault("/v1/limits", 200, {}, {})).toBe("the header RateLimit is missing");
  expect(fault("/v1/limits", 200, { ...limits, ratelimit: "1" }, {})).toContain('RateLimit is "1"');
  expect(fault("/v1/limits", 200, { ...limits, "retry-after": "1" }, {})).toContain("not documented");
  expect(fault("/v1/health", 200, limits, { status: "healthy" })).toContain("not documented");
  expect(fault("/v1/limits", 429, limits, error("rate_limited"))).toBe("the header Retry-After is missing");
  expect(fault("/v1/limits", 429, { "retry-after": "9" }, error("rate_limited"))).toBeUndefined();
});

test("a stream of events tells of limits like every other answer", async () => {
  const { id } = await world.createMachine();
  const answer = await fetch(`${world.url}/v1/machines/${id}/execute`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${world.token}`,
      "content-type": "application/json",
      accept: "text/event-stream",
    },
    body: JSON.stringify({ command: "true" }),
  });
  const text = await answer.text();
  expect(answer.headers.get("content-type")).toContain("text/event-stream");
  const headers = Object.fromEntries(answer.headers);
  expect(Object.keys(headers)).toContain("ratelimit");
  new ApiDocument(world.server.app.swagger()).check({
    ...{ method: "POST", path: `/v1/machines/${id}/execute`, status: answer.status },
    ...{ type: "text/event-stream", headers, text },
  });
});

test("the requests that are shown as examples work", async () => {
  const example = (name: string) => (components.schemas[name]?.["examples"] as unknown[] | undefined)?.[0];
  const created = await world.call<{ id: string }>("POST", "/v1/sandboxes", {
    body: example("SandboxCreateRequest"),
  });
  expect(created.status, created.text).toBe(201);
  const path = `/v1/sandboxes/${created.body.id}`;
  const calls = [
    ["POST", `${path}/execute`, "ExecuteRequest"],
    ["POST", `${path}/keepalive`, "KeepaliveRequest"],
    ["PUT", `${path}/egress`, "EgressRequest"],
  ] as const;
  for (const [method, target, name] of calls) {
    const answer = await world.call(method, target, { body: example(name) });
    expect(answer.status, answer.text).toBe(200);
  }
  const token = await world.call("POST", "/v1/auth/tokens", { body: example("TokenCreateRequest") });
  expect(token.status, token.text).toBe(201);
});

/** What a field needs beside it. */
const besides: Readonly<Record<string, object>> = { pause_after_idle: { mode: "persistent" } };

test("the examples of a request's single fields keep to its limits", async () => {
  const { id } = await world.createSandbox();
  const requests = [
    ["POST", "/v1/sandboxes", "SandboxCreateRequest"],
    ["POST", "/v1/machines", "MachineCreateRequest"],
    ["POST", `/v1/sandboxes/${id}/execute`, "ExecuteRequest"],
    ["POST", `/v1/sandboxes/${id}/keepalive`, "KeepaliveRequest"],
    ["POST", "/v1/auth/tokens", "TokenCreateRequest"],
  ] as const;
  let tried = 0;
  for (const [method, path, name] of requests) {
    const schema = components.schemas[name] as { examples: [Json]; properties: Record<string, Json> };
    for (const [field, { examples }] of Object.entries(schema.properties)) {
      for (const example of (examples ?? []) as unknown[]) {
        const answer = await world.call(method, path, {
          body: { ...schema.examples[0], ...besides[field], [field]: example },
        });
        expect(answer.status, `${name}.${field}: ${answer.text}`).toBeLessThan(300);
        tried += 1;
        // The next one has the same name.
        if (name === "MachineCreateRequest")
          await world.call("DELETE", `${path}/${String(answer.body["id"])}`);
      }
    }
  }
  expect(tried).toBeGreaterThanOrEqual(7);
});
