import { beforeAll, expect, test } from "vitest";
import type { SandboxList } from "@skerry/contract/sandboxes/sandbox";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});

type Case = readonly [what: string, body: unknown, status: number, code: string, says: string];
const create = (extra: Record<string, unknown>) => ({ template: "base", ...extra });
const lan = { allow_cidrs: ["10.0.0.0/8"] };
const manyVariables = Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`V${index}`, ""]));

const creations: readonly Case[] = [
  ["no template", {}, 400, "bad_request", '"template" is missing'],
  ["an empty template", { template: "" }, 400, "bad_request", "must not be empty"],
  ["a list", [], 400, "bad_request", "JSON object"],
  ["a misspelt field", create({ tmieout: "5m" }), 400, "unknown_field", '"tmieout"'],
  ["a number as timeout", create({ timeout: 30 }), 400, "invalid_duration", '"timeout"'],
  ["a timeout without unit", create({ timeout: "30" }), 400, "invalid_duration", '"timeout"'],
  ["a zero timeout", create({ timeout: "0s" }), 400, "invalid_duration", '"timeout"'],
  ["a bare zero as timeout", create({ timeout: "0" }), 400, "invalid_duration", '"timeout"'],
  ["a negative timeout", create({ timeout: "-5m" }), 400, "invalid_duration", '"timeout"'],
  ["a fraction", create({ timeout: "1.5h" }), 400, "invalid_duration", '"timeout"'],
  ["an empty timeout", create({ timeout: "" }), 400, "invalid_duration", '"timeout"'],
  ["more than a day", create({ timeout: "24h1s" }), 422, "timeout_too_long", "24h"],
  ["a number in env", create({ env: { A: 1 } }), 400, "invalid_env", "strings"],
  ["env as a list", create({ env: ["A=1"] }), 400, "invalid_env", "strings"],
  ["an empty name in env", create({ env: { "": "1" } }), 400, "invalid_env", "empty name"],
  ["= in a name", create({ env: { "A=B": "1" } }), 400, "invalid_env", "`=`"],
  ["NUL in a name", create({ env: { "A\0": "1" } }), 400, "invalid_env", "NUL"],
  ["NUL in a value", create({ env: { A: "\0" } }), 400, "invalid_env", "NUL"],
  ["half a character", create({ env: { A: "\ud800" } }), 400, "invalid_env", "Unicode"],
  ["a line break in a name", create({ env: { "A\nB": 5 } }), 400, "invalid_env", "control character"],
  ["too many variables", create({ env: manyVariables }), 400, "invalid_env", "256"],
  ["a long value", create({ env: { A: "x".repeat(131_070) } }), 400, "invalid_env", "131071"],
  ["values that are long together", create({ env: { A: "x".repeat(57_344) } }), 400, "invalid_env", "57344"],
  ["an unknown template", { template: "windows" }, 422, "unknown_template", "windows"],
  ["an unknown size", create({ size: "huge" }), 422, "unknown_size", "huge"],
  ["another mode", create({ mode: "eternal" }), 400, "bad_request", '"ephemeral"'],
  ["a wrong CIDR", create({ egress: { deny_cidrs: ["a"] } }), 400, "invalid_cidr", "egress.deny_cidrs[0]"],
  ["another egress mode", create({ egress: { mode: "some" } }), 400, "bad_request", '"allow_all"'],
  ["port 0", create({ egress: { ...lan, allow_ports: [0] } }), 400, "invalid_port", "egress.allow_ports[0]"],
  ["port 70000", create({ egress: { ...lan, allow_ports: [70_000] } }), 400, "invalid_port", "70000"],
  [
    "allow_all with allowed CIDRs",
    create({ egress: { ...lan, mode: "allow_all" } }),
    422,
    "egress_conflict",
    "allow_cidrs",
  ],
  ["ports of no CIDR", create({ egress: { allow_ports: [443] } }), 422, "egress_conflict", "allow_ports"],
  ["NUL in the name", create({ name: "a\0b" }), 400, "bad_request", '"name"'],
  ["NUL in a label", create({ metadata: { a: "\0" } }), 400, "bad_request", "metadata.a"],
  ["a number as label", create({ metadata: { a: 1 } }), 400, "bad_request", "metadata.a"],
];

test.each(creations)(
  "a sandbox with %s is refused, and nothing is made",
  async (...[, body, status, code, says]) => {
    const answer = await world.call("POST", "/v1/sandboxes", { body });
    expect([answer.status, answer.body["code"]], answer.text).toEqual([status, code]);
    expect(answer.text).toContain(JSON.stringify(says).slice(1, -1));
    expect(answer.body["request_id"]).toBe(answer.headers.get("x-request-id"));
    expect(answer.headers.get("content-type")).toContain("application/json");
    const { body: all } = await world.call<SandboxList>("GET", "/v1/sandboxes");
    expect([all.items.map((sandbox) => sandbox.id), [...world.host.vms.keys()]]).toEqual([[id], [id]]);
  },
);

test("an unknown template or size names those that there are", async () => {
  const template = await world.call("POST", "/v1/sandboxes", { body: { template: "windows" } });
  expect(template.body["remediation"]).toContain("base");
  const size = await world.call("POST", "/v1/sandboxes", { body: create({ size: "huge" }) });
  expect(size.body["remediation"]).toContain("shared-cpu-1x, shared-cpu-2x");
});

test("a field that is missing is said to be what it is, and where its values are listed", async () => {
  for (const path of ["/v1/sandboxes", "/v1/machines"]) {
    const { body } = await world.call("POST", path, { body: {} });
    expect(body["remediation"]).toBe(
      "Give it: Template name or id, such as `base`; `GET /v1/templates` lists them.",
    );
  }
});

test("a value of another form is refused in words, and no regular expression is among them", async () => {
  const upload = await world.call("PUT", `/v1/sandboxes/${id}/files/a?mode=rwx`);
  expect([upload.status, upload.body]).toMatchObject([
    400,
    {
      code: "bad_request",
      message: '"mode" does not have the form that it needs.',
      remediation: "Give permissions in octal, such as `0755`.",
    },
  ]);
});

test("a refused duration comes with an example, and an unknown field with its name", async () => {
  const duration = await world.call("POST", "/v1/sandboxes", { body: create({ timeout: "soon" }) });
  expect(duration.body["remediation"]).toContain("such as 30s, 10m or 1h30m");
  for (const [timeout, meant] of [
    ["10", "10 has no unit: write 10s, 10m or 10h."],
    ["3d", "There is no unit for days: write 72h."],
  ]) {
    const { body } = await world.call("POST", "/v1/sandboxes", { body: create({ timeout }) });
    expect(body["remediation"]).toContain(meant);
  }
  expect(duration.body["context"]).toEqual({ field: "timeout", value: "soon" });
  const field = await world.call("POST", "/v1/sandboxes", { body: create({ egress: { modee: 1 } }) });
  expect(field.body["context"]).toEqual({ field: "egress.modee" });
  expect(field.body["remediation"]).toBe('Write "mode".');
  const number = await world.call("POST", "/v1/sandboxes", { body: create({ timeout: 30 }) });
  expect(number.body["message"]).toBe('"timeout" must be a text such as "30s", not a number.');
});

const otherNames: readonly (readonly [field: string, meant: string])[] = [
  ["cwd", 'Write "workdir".'],
  ["workingDirectory", 'Write "workdir".'],
  ["envs", 'Write "env".'],
  ["timeoutMs", 'Write "timeout", for example "1m".'],
  ["timeout_seconds", 'Write "timeout", for example "1m".'],
  ["cmd", 'Write "command", for example "echo hello".'],
  ["stdinEncoding", 'Write "stdin_encoding".'],
  ["detatch", 'Write "detach".'],
  // A sandbox has it, and a command does not.
  ["labels", "Check the spelling; `GET /v1/openapi.json` lists the fields."],
];

test("an image in the place of a template is answered with how to make one of it", async () => {
  const { body } = await world.call("POST", "/v1/sandboxes", { body: { image: "redis:7" } });
  expect(body["remediation"]).toMatch(
    /^Write "template".* `skerry template build --image IMAGE --name NAME`/,
  );
});

test.each(otherNames)("a field that other products call %s is answered with ours", async (field, meant) => {
  const { status, body } = await world.call("POST", `/v1/sandboxes/${id}/execute`, {
    body: { command: "a", [field]: 1 },
  });
  expect([status, body["code"], body["remediation"]]).toEqual([400, "unknown_field", meant]);
});

const commands: readonly Case[] = [
  ["no command", {}, 400, "bad_request", '"command" is missing'],
  ["an empty command", { command: "" }, 400, "bad_request", "must not be empty"],
  ["NUL", { command: "a\0b" }, 400, "bad_request", "NUL"],
  ["a command that is too long", { command: "x".repeat(131_072) }, 400, "bad_request", "131071"],
  ["a command of too many bytes", { command: "é".repeat(65_536) }, 400, "bad_request", "131071"],
  ["a long value", { command: "a", env: { A: "x".repeat(131_070) } }, 400, "invalid_env", "131071"],
  ["too much in all", { command: "\n".repeat(130_000) }, 400, "bad_request", "253952 bytes together"],
  ["a relative workdir", { command: "a", workdir: "tmp" }, 400, "invalid_path", '"workdir"'],
  ["a workdir with ..", { command: "a", workdir: "/a/../b" }, 400, "invalid_path", "`..`"],
  ["more than five minutes", { command: "a", timeout: "301s" }, 422, "timeout_too_long", "5m"],
  ["a way out of five minutes", { command: "a", timeout: "6m" }, 422, "timeout_too_long", "startExecution"],
  ["no bound", { command: "a", timeout: "0s" }, 422, "timeout_too_long", "skerry sandbox exec"],
  ["a broken timeout", { command: "a", timeout: "10" }, 400, "invalid_duration", '"timeout"'],
  ["a broken env", { command: "a", env: { "=": "" } }, 400, "invalid_env", "`=`"],
  ["a misspelt field", { comand: "a" }, 400, "unknown_field", '"comand"'],
];

test.each(commands)("a command with %s is refused", async (...[, body, status, code, says]) => {
  const answer = await world.call("POST", `/v1/sandboxes/${id}/execute`, { body });
  expect([answer.status, answer.body["code"]], answer.text).toEqual([status, code]);
  expect(answer.text).toContain(JSON.stringify(says).slice(1, -1));
  expect(world.host.commands).toHaveLength(0);
});

const paths: readonly (readonly [what: string, path: string, status: number, code: string])[] = [
  ["an encoded `../`", "a%2F..%2Fb", 400, "invalid_path"],
  ["NUL", "a%00b", 400, "invalid_path"],
  ["bytes that are not UTF-8", "a%FF", 400, "invalid_path"],
  ["4,096 bytes", "x".repeat(4_095), 400, "invalid_path"],
];

test.each(paths)("a path with %s is refused", async (_what, path, status, code) => {
  for (const method of ["GET", "PUT"]) {
    const answer = await world.call(method, `/v1/sandboxes/${id}/files/${path}`);
    expect([answer.status, answer.body["code"]], answer.text).toEqual([status, code]);
  }
  expect(world.host.files.size).toBe(0);
});

test("a body that is not JSON, too large or of another type is refused in the one shape", async () => {
  const send = (body: string, headers: Record<string, string> = {}) =>
    world.call("POST", "/v1/sandboxes", { body, headers });
  const broken = await send("{");
  expect([broken.status, broken.body["code"]]).toEqual([400, "bad_request"]);
  expect(broken.body["message"]).toContain("not valid JSON");
  const large = await send(JSON.stringify({ template: "x".repeat(1_100_000) }));
  expect([large.status, large.body["code"]]).toEqual([413, "payload_too_large"]);
  const form = await send("a=b", { "content-type": "application/x-www-form-urlencoded" });
  expect([form.status, form.body["code"]]).toEqual([415, "unsupported_media_type"]);
  const nothing = await world.call("POST", "/v1/sandboxes", {
    headers: { "content-type": "application/json" },
  });
  expect([nothing.status, nothing.body["code"]]).toEqual([400, "bad_request"]);
});

test.each([
  '{"template":"base","metadata":{"__proto__":"x"}}',
  '{"template":"base","metadata":{"__proto__":{"polluted":"yes"}}}',
  '{"template":"base","metadata":{"\\u005f_proto__":"x"}}',
  '{"template":"base","env":{"a":{"constructor":{"prototype":{"polluted":"yes"}}}}}',
  '{"__proto__":{"template":"base"}}',
])("%s is refused for its name and not for its JSON, and changes no object", async (body) => {
  const answer = await world.call("POST", "/v1/sandboxes", { body });
  expect([answer.status, answer.body["code"]]).toEqual([400, "bad_request"]);
  expect(answer.body["message"]).toContain('"__proto__"');
  expect(answer.body["message"]).not.toContain("JSON");
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

test("the name of a forbidden field is fine as a value", async () => {
  const metadata = { a: "__proto__", b: '{"__proto__": 1}' };
  const made = await world.createSandbox({ metadata });
  expect(made.metadata).toEqual(metadata);
});

test("an unknown path is 404, another method 405, and both say so in the one shape", async () => {
  const path = await world.call("GET", "/v1/nothing");
  expect([path.status, path.body["code"]]).toEqual([404, "not_found"]);
  const method = await world.call("PUT", `/v1/sandboxes/${id}`);
  expect([method.status, method.body["code"]]).toEqual([405, "method_not_allowed"]);
  expect(method.headers.get("allow")).toContain("DELETE");
  const encoding = await world.call("GET", "/v1/%zz");
  expect([encoding.status, encoding.body["code"]]).toEqual([400, "invalid_path"]);
});

test("a sane request id is kept, another one replaced", async () => {
  const own = await world.call("GET", "/v1/health", { headers: { "x-request-id": "trace-1.2_3" } });
  expect(own.headers.get("x-request-id")).toBe("trace-1.2_3");
  const odd = await world.call("GET", "/v1/health", { headers: { "x-request-id": "a b" } });
  expect(odd.headers.get("x-request-id")).toMatch(/^req_/);
});

test("the sizes and the templates are listed, and a template is found by name and id", async () => {
  const sizes = await world.call<{ items: unknown[] }>("GET", "/v1/sizes");
  expect(sizes.body.items).toContainEqual({
    name: "shared-cpu-2x",
    vcpus: 2,
    memory_mib: 512,
    cpu: "shared",
  });
  const list = await world.call<{ items: { id: string }[] }>("GET", "/v1/templates");
  expect(list.body.items).toHaveLength(1);
  for (const key of ["base", list.body.items[0]?.id]) {
    expect((await world.call("GET", `/v1/templates/${key}`)).body["name"]).toBe("base");
  }
  const missing = await world.call("GET", "/v1/templates/none");
  expect([missing.status, missing.body["code"]]).toEqual([404, "template_not_found"]);
});

test("the OpenAPI document is served and describes the calls", async () => {
  const { body } = await world.call<{ openapi: string; paths: Record<string, unknown> }>(
    "GET",
    "/v1/openapi.json",
  );
  expect(body.openapi).toBe("3.1.0");
  expect(Object.keys(body.paths)).toContain("/v1/sandboxes/{id}/files/{path}");
});

test("no name of anything has a line break, a control character or one that turns text around", async () => {
  const paths: readonly (readonly [method: "POST" | "PATCH", path: string, body: object])[] = [
    ["POST", "/v1/sandboxes", { template: "base" }],
    ["POST", "/v1/machines", { template: "base" }],
    ["POST", "/v1/auth/tokens", {}],
    ["POST", "/v1/orgs", {}],
    ["PATCH", `/v1/orgs/${world.orgId}`, {}],
    ["POST", `/v1/orgs/${world.orgId}/members`, { role: "viewer" }],
  ];
  for (const name of ["a\nb", "a\tb", "\u001b[2J", "\u007f", "\u0085", "a\u2028b", "a\u202eb", "\0"])
    for (const [method, path, body] of paths) {
      const answer = await world.call(method, path, { body: { ...body, name } });
      expect([method, path, name, answer.status, answer.body["code"], answer.body["context"]]).toEqual([
        ...[method, path, name, 400, "bad_request"],
        { field: "name" },
      ]);
    }
  const made = await world.call("POST", "/v1/auth/tokens", { body: { name: "日本 naïve 👩‍👩‍👧 it's" } });
  expect(made.status).toBe(201);
});
