// The life of a sandbox from its first request to its last trace, with real microVMs behind it.

import { afterAll, describe, expect, inject, test } from "vitest";
import type { Sandbox, SandboxList } from "@skerry/contract/sandboxes/sandbox";
import type { TokenCreated } from "@skerry/contract/organizations/token";
import {
  createSandbox,
  destroySandbox,
  execute,
  getSandbox,
  outputOf,
  refusal,
  type Api,
} from "./support/api.ts";
import { newStranger } from "./support/organizations.ts";
import { call, eagerServices, inventory, startPlatform, until } from "./support/platform.ts";

const HOUR_MS = 3_600_000;

// One of its own: nobody else changes what there is of it.
const platform = await startPlatform({ assets: inject("assets"), env: eagerServices });
afterAll(() => platform.stop());

function create(body: object = { template: "base" }): Promise<Sandbox> {
  return createSandbox(platform, body);
}

function post(body: unknown, api: Api = platform): Promise<Response> {
  return call(api, "POST", "/v1/sandboxes", { body });
}

async function list(query: string): Promise<Sandbox[]> {
  const response = await call(platform, "GET", `/v1/sandboxes${query}`);
  expect(response.status).toBe(200);
  return ((await response.json()) as SandboxList).items;
}

function keepalive(id: string, body?: object): Promise<Response> {
  return call(platform, "POST", `/v1/sandboxes/${id}/keepalive`, body === undefined ? {} : { body });
}

/** From the moment that it was usable, so that a slow start costs its owner nothing. */
function lifetimeMs(sandbox: Sandbox): number {
  return Date.parse(sandbox.expires_at) - Date.parse(sandbox.started_at ?? "");
}

describe("creating", () => {
  test("with a template alone takes every default, and the sandbox is usable when the answer comes", async () => {
    const askedAtMs = Date.now();
    const sandbox = await create();
    const answeredAtMs = Date.now();
    expect(await execute(platform, sandbox.id, { command: "echo usable" })).toMatchObject({
      stdout: "usable\n",
    });
    expect(sandbox).toMatchObject({
      id: expect.stringMatching(/^sbx_[0-9a-z]{26}$/),
      name: null,
      template: "base",
      mode: "ephemeral",
      size: "shared-cpu-1x",
      status: "running",
      timeout: "5m",
      env: {},
      metadata: {},
      egress: { mode: "allow_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true },
      host_id: expect.stringMatching(/^hst_/),
      destroyed_at: null,
      reason: null,
    });
    expect(lifetimeMs(sandbox)).toBe(5 * 60_000);
    expect(Date.parse(sandbox.created_at)).toBeGreaterThanOrEqual(askedAtMs);
    expect(Date.parse(sandbox.created_at)).toBeLessThanOrEqual(answeredAtMs);
    expect(Date.parse(sandbox.started_at ?? "")).toBeGreaterThanOrEqual(Date.parse(sandbox.created_at));
    expect(await getSandbox(platform, sandbox.id)).toEqual(sandbox);
    expect(await outputOf(platform, sandbox.id, "nproc; df -BG --output=size / | tail -1")).toMatch(
      /^1\n +4G$/,
    );
  });

  test("takes every field as it was given, and the VM has what they say", async () => {
    const fields = {
      template: "base",
      name: "Nightly ünit tests",
      mode: "ephemeral",
      timeout: "1h30m",
      size: "shared-cpu-2x",
      env: { EMPTY: "", _UNDER: "1", TEXT: "two words\nand a line" },
      metadata: { job: "7", "team/name": "ä" },
    };
    const sandbox = await create(fields);
    expect(sandbox).toMatchObject(fields);
    expect(lifetimeMs(sandbox)).toBe(1.5 * HOUR_MS);
    expect(await outputOf(platform, sandbox.id, 'nproc; echo "[$EMPTY] $TEXT"; env | grep ^_UNDER=')).toBe(
      "2\n[] two words\nand a line\n_UNDER=1",
    );
    const memoryKib = Number(
      await outputOf(platform, sandbox.id, "sed -n 's/MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo"),
    );
    expect(memoryKib / 1024).toBeGreaterThan(430);
    expect(memoryKib / 1024).toBeLessThanOrEqual(512);
    await destroySandbox(platform, sandbox.id);
  });

  test("takes a template by its id too", async () => {
    const templates = (await (await call(platform, "GET", "/v1/templates")).json()) as {
      items: { id: string }[];
    };
    const sandbox = await create({ template: templates.items[0]?.id, timeout: "24h" });
    expect(sandbox).toMatchObject({ template: "base", timeout: "24h" });
    await destroySandbox(platform, sandbox.id);
  });

  const base = { template: "base" };
  test.each<[string, unknown, number, string]>([
    ["no template", {}, 400, "bad_request"],
    ["an unknown template", { template: "no-such" }, 422, "unknown_template"],
    ["an unknown size", { ...base, size: "huge" }, 422, "unknown_size"],
    ["a size that no host has", { ...base, size: "performance-16x" }, 422, "size_too_large"],
    ["an unknown mode", { ...base, mode: "eternal" }, 400, "bad_request"],
    ["an unknown egress mode", { ...base, egress: { mode: "some" } }, 400, "bad_request"],
    ["too long a prefix", { ...base, egress: { allow_cidrs: ["10.0.0.0/33"] } }, 400, "invalid_cidr"],
    ["host bits in a CIDR", { ...base, egress: { deny_cidrs: ["10.0.0.1/8"] } }, 400, "invalid_cidr"],
    ["port 0", { ...base, egress: { allow_cidrs: ["10.0.0.0/8"], allow_ports: [0] } }, 400, "invalid_port"],
    [
      "port 70000",
      { ...base, egress: { allow_cidrs: ["10.0.0.0/8"], allow_ports: [70_000] } },
      400,
      "invalid_port",
    ],
    [
      "allow_all with allowed CIDRs",
      { ...base, egress: { mode: "allow_all", allow_cidrs: ["10.0.0.0/8"] } },
      422,
      "egress_conflict",
    ],
    ["allowed ports of nobody", { ...base, egress: { allow_ports: [443] } }, 422, "egress_conflict"],
    ["an unknown field", { ...base, timout: "10m" }, 400, "unknown_field"],
    ["a timeout of zero", { ...base, timeout: "0s" }, 400, "invalid_duration"],
    ["a timeout of a bare zero", { ...base, timeout: "0" }, 400, "invalid_duration"],
    ["a negative timeout", { ...base, timeout: "-5m" }, 400, "invalid_duration"],
    ["a timeout without a unit", { ...base, timeout: "10" }, 400, "invalid_duration"],
    ["a timeout that is a number", { ...base, timeout: 10 }, 400, "invalid_duration"],
    ["a timeout over a day", { ...base, timeout: "25h" }, 422, "timeout_too_long"],
    ["an environment that is a list", { ...base, env: ["A=1"] }, 400, "invalid_env"],
    ["a variable that is a number", { ...base, env: { A: 1 } }, 400, "invalid_env"],
    ["a variable without a name", { ...base, env: { "": "x" } }, 400, "invalid_env"],
    ["a variable with = in its name", { ...base, env: { "A=B": "x" } }, 400, "invalid_env"],
    ["a variable with NUL", { ...base, env: { A: "x\0y" } }, 400, "invalid_env"],
    ["a body that is a list", [], 400, "bad_request"],
  ])("with %s is refused, and nothing is made", async (_what, body, status, code) => {
    const before = await inventory(platform);
    await refusal(post(body), status, code);
    expect(await inventory(platform)).toEqual(before);
  });

  test("names the field that does not exist", async () => {
    const { message, context } = await refusal(post({ ...base, timout: "10m" }), 400, "unknown_field");
    expect(message).toContain('"timout"');
    expect(context).toMatchObject({ field: "timout" });
  });
});

test("the list can be filtered by status, template and labels, newest first", async () => {
  const label = `run-${Date.now()}`;
  const first = await create({ template: "base", metadata: { label, part: "a" } });
  const second = await create({ template: "base", metadata: { label, part: "b" } });
  const ids = async (query: string) => (await list(query)).map(({ id }) => id);
  const labelled = `?metadata.label=${label}`;
  expect(await ids(labelled)).toEqual([second.id, first.id]);
  expect(await ids(`${labelled}&metadata.part=a`)).toEqual([first.id]);
  expect(await ids(`${labelled}&template=base&status=running`)).toEqual([second.id, first.id]);
  expect(await ids(`${labelled}&template=other`)).toEqual([]);
  await destroySandbox(platform, first.id);
  expect(await ids(`${labelled}&status=running`)).toEqual([second.id]);
  expect(await ids(`${labelled}&status=destroyed`)).toEqual([first.id]);
  await destroySandbox(platform, second.id);
});

describe("keepalive", () => {
  test("pushes the expiry back, never forward, and counts more than a day as a day", async () => {
    const sandbox = await create({ template: "base", timeout: "10m" });
    const expiryAfter = async (body?: object): Promise<number> => {
      const response = await keepalive(sandbox.id, body);
      const answer = (await response.json()) as Sandbox;
      expect(response.status).toBe(200);
      expect(await getSandbox(platform, sandbox.id)).toEqual(answer);
      return Date.parse(answer.expires_at);
    };
    const before = Date.parse(sandbox.expires_at);
    const ownAgain = await expiryAfter();
    expect(ownAgain).toBeGreaterThan(before);
    expect(await expiryAfter({ timeout: "1m" })).toBe(ownAgain);
    const inTwoHours = await expiryAfter({ timeout: "2h" });
    expect(Math.abs(inTwoHours - Date.now() - 2 * HOUR_MS)).toBeLessThan(60_000);
    const clamped = await expiryAfter({ timeout: "1000h" });
    expect(Math.abs(clamped - Date.now() - 24 * HOUR_MS)).toBeLessThan(60_000);
    await refusal(keepalive(sandbox.id, { timeout: "0s" }), 400, "invalid_duration");
    await destroySandbox(platform, sandbox.id);
    await refusal(keepalive(sandbox.id, { timeout: "1h" }), 409, "sandbox_not_running");
  });
});

describe("the end", () => {
  test("by request gives everything back: process, namespace with its TAP, overlay, row", async () => {
    const before = await inventory(platform);
    const sandbox = await create();
    expect(await inventory(platform)).toEqual({
      ...before,
      processes: before.processes + 1,
      namespaces: before.namespaces + 1,
      overlays: before.overlays + 1,
      runningRows: before.runningRows + 1,
    });
    await destroySandbox(platform, sandbox.id);
    expect(await inventory(platform)).toEqual(before);
    const after = await getSandbox(platform, sandbox.id);
    expect(after).toMatchObject({ status: "destroyed", reason: "destroyed by request" });
    expect(Date.parse(after.destroyed_at ?? "")).toBeGreaterThan(Date.parse(sandbox.created_at));
    await destroySandbox(platform, sandbox.id); // again is no error
    await refusal(
      call(platform, "POST", `/v1/sandboxes/${sandbox.id}/execute`, { body: { command: "true" } }),
      409,
      "sandbox_not_running",
    );
  });

  test("comes by itself when the time is over, although a command still runs, and gives everything back", async () => {
    const before = await inventory(platform);
    const sandbox = await create({ template: "base", timeout: "3s" });
    const busy = call(platform, "POST", `/v1/sandboxes/${sandbox.id}/execute`, {
      body: { command: "sleep 200", timeout: "4m" },
    });
    await until(
      "the sandbox has expired",
      async () => (await getSandbox(platform, sandbox.id)).status === "destroyed",
    );
    const { reason, expires_at, destroyed_at } = await getSandbox(platform, sandbox.id);
    expect(reason).toMatch(/timeout|expired/);
    expect(Date.parse(destroyed_at ?? "")).toBeGreaterThanOrEqual(Date.parse(expires_at));
    expect(await inventory(platform)).toEqual(before);
    const { message } = await refusal(busy, 409, "sandbox_expired");
    expect(message).toBe("The sandbox has expired: its timeout of 3s is over.");
  });
});

describe("whoever has no business with a sandbox", () => {
  const routes = (id: string): [string, string, object?][] => [
    ["GET", `/v1/sandboxes/${id}`],
    ["DELETE", `/v1/sandboxes/${id}`],
    ["POST", `/v1/sandboxes/${id}/keepalive`, { timeout: "1h" }],
    ["POST", `/v1/sandboxes/${id}/execute`, { command: "touch /tmp/stranger" }],
    ["GET", `/v1/sandboxes/${id}/files/etc/hostname`],
    ["GET", `/v1/sandboxes/${id}/files/etc?list=true`],
    ["PUT", `/v1/sandboxes/${id}/files/tmp/stranger`],
  ];

  async function refusedEverywhere(api: Api, sandbox: Sandbox, status: number, code: string): Promise<void> {
    for (const [method, path, body] of routes(sandbox.id)) {
      await refusal(call(api, method, path, body === undefined ? {} : { body }), status, code);
    }
  }

  test("another organization's member gets the same answer as for a sandbox that never was", async () => {
    const sandbox = await create();
    const stranger = await newStranger(platform);
    await refusedEverywhere(stranger, sandbox, 404, "sandbox_not_found");
    const unknown = "sbx_01m7wzjp5zrdxfsapk6aqbvjdg";
    const never = await refusal(call(stranger, "GET", `/v1/sandboxes/${unknown}`), 404, "sandbox_not_found");
    const theirs = await refusal(
      call(stranger, "GET", `/v1/sandboxes/${sandbox.id}`),
      404,
      "sandbox_not_found",
    );
    // Both repeat what was asked for, and nothing else.
    const message = never.message.replace(unknown, sandbox.id);
    expect({ ...theirs, request_id: "" }).toEqual({ ...never, message, request_id: "" });
    expect(await (await call(stranger, "GET", "/v1/sandboxes")).json()).toEqual({
      items: [],
      next_cursor: null,
    });
    const acrossOrgs = call(platform, "GET", "/v1/sandboxes", { headers: { "x-org-id": stranger.orgId } });
    await refusal(acrossOrgs, 404, "organization_not_found");
    expect(await outputOf(platform, sandbox.id, "ls /tmp")).not.toContain("stranger");
    expect(await getSandbox(platform, sandbox.id)).toEqual(sandbox);
  });

  test("a missing, wrong, expired or revoked token is refused on every route", async () => {
    const sandbox = await create();
    const mint = async (body: object): Promise<TokenCreated> =>
      (await (await call(platform, "POST", "/v1/auth/tokens", { body })).json()) as TokenCreated;
    const [expired, revoked] = [
      await mint({ name: "short", expires_in: "1s" }),
      await mint({ name: "ended" }),
    ];
    const withToken = (token: string): Api => ({ apiUrl: platform.apiUrl, token });
    expect((await call(withToken(revoked.token), "GET", "/v1/sandboxes")).status).toBe(200);
    expect((await call(platform, "DELETE", `/v1/auth/tokens/${revoked.id}`)).status).toBe(204);
    await until("the token has expired", async () => Date.now() > Date.parse(expired.expires_at ?? "") + 100);
    for (const token of ["", "sk_wrong", `${platform.token}x`, expired.token, revoked.token]) {
      await refusedEverywhere(withToken(token), sandbox, 401, "unauthorized");
      await refusal(post({ template: "base" }, withToken(token)), 401, "unauthorized");
      await refusal(call(withToken(token), "GET", "/v1/sandboxes"), 401, "unauthorized");
    }
    expect(await getSandbox(platform, sandbox.id)).toEqual(sandbox);
  });
});
