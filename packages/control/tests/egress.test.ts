import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { EgressReport } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import type { Report } from "../src/background/background-service.ts";
import { denial } from "./support/fake-host-state.ts";
import { openReplica } from "./support/replica.ts";
import { eventually, World, type Answer } from "./support/world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const open = { mode: "allow_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true };
const closed = { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false };
const someTraffic = { bytes_out: 1, packets_out: 2, bytes_in: 3, packets_in: 4 };
const noTraffic = { bytes_out: 0, packets_out: 0, bytes_in: 0, packets_in: 0 };

function put(id: string, body: unknown, url?: string): Promise<Answer<EgressReport & { code?: string }>> {
  return world.call("PUT", `/v1/sandboxes/${id}/egress`, { body, ...(url !== undefined && { url }) });
}

async function stored(id: string): Promise<unknown> {
  return (await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body.egress;
}

/** Holds the next change on the host until `release`. */
function holdChange() {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  world.host.beforeEgress = async () => {
    world.host.beforeEgress = async () => undefined;
    entered.resolve();
    await release.promise;
  };
  return { entered: entered.promise, release: release.resolve };
}

function onHost(id: string): unknown {
  return world.host.vms.get(id)?.spec.egress;
}

function reconcile(): Promise<Report> {
  return vmReconciler(world.context, 1_000).activate(new AbortController().signal);
}

test("a sandbox without a word on egress reaches everything and looks up names", async () => {
  const sandbox = await world.createSandbox();
  expect([sandbox.egress, onHost(sandbox.id)]).toEqual([open, open]);
  expect((await world.createSandbox({ egress: {} })).egress).toEqual(open);
});

test("the rules of a new sandbox reach its host in their canonical form before the sandbox runs", async () => {
  const { id, egress } = await world.createSandbox({
    egress: { allow_cidrs: ["203.0.113.0/24", "9.0.0.1", "203.0.113.0/24"], allow_ports: [443, 80, 443] },
  });
  const whole = {
    mode: "deny_all",
    allow_cidrs: ["9.0.0.1/32", "203.0.113.0/24"],
    deny_cidrs: [],
    allow_ports: [80, 443],
    dns: false,
  };
  expect([egress, onHost(id), await stored(id)]).toEqual([whole, whole, whole]);
  expect(world.host.calls.filter((call) => call.endsWith("/egress"))).toEqual([]);
});

function putIfMatch(id: string, ifMatch: string, mode = "deny_all"): Promise<Answer<EgressReport & Refusal>> {
  return world.call("PUT", `/v1/sandboxes/${id}/egress`, {
    body: { mode },
    headers: { "if-match": ifMatch },
  });
}

interface Refusal {
  readonly code: string;
  readonly context: unknown;
}

test("a change for the rules that were read replaces those alone, and the refusal tells both versions", async () => {
  const { id } = await world.createSandbox();
  const read = await world.call<EgressReport>("GET", `/v1/sandboxes/${id}/egress`);
  const { version } = read.body;
  expect(read.headers.get("etag")).toBe(`"${version}"`);
  const first = await putIfMatch(id, `"${version}"`);
  expect([first.status, first.body.version, first.headers.get("etag")]).toEqual([
    200,
    version + 1,
    `"${version + 1}"`,
  ]);
  const second = await putIfMatch(id, `"${version}"`, "allow_all");
  expect([second.status, second.body.code, second.body.context]).toEqual([
    412,
    "version_mismatch",
    { version: version + 1, if_match: `"${version}"` },
  ]);
  expect([await stored(id), onHost(id)]).toEqual([closed, closed]);
  const any = [`"x", "${version + 1}"`, "*"];
  for (const tags of any) expect((await putIfMatch(id, tags)).status).toBe(200);
  for (const none of [`W/"${version + 3}"`, '"x"', '""', '"-1"', `"0${version + 3}"`, `"${"9".repeat(400)}"`])
    expect((await putIfMatch(id, none)).body.code).toBe("version_mismatch");
  for (const wrong of ["3", '"3', '"3" "4"', ",", "W/3", "''", `"${"\\".repeat(50)}`])
    expect((await putIfMatch(id, wrong)).status).toBe(400);
  expect((await putIfMatch(id, `"${version + 3}"`)).status).toBe(200);
});

test("of changes for the same rules that come at once exactly one is made, also of a paused sandbox", async () => {
  const { id } = await world.createSandbox({ mode: "persistent" });
  for (const verb of ["keepalive", "pause"]) {
    expect((await world.call("POST", `/v1/sandboxes/${id}/${verb}`)).status).toBe(200);
    const { body } = await world.call<EgressReport>("GET", `/v1/sandboxes/${id}/egress`);
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => putIfMatch(id, `"${body.version}"`)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412, 412, 412]);
  }
});

test("the version that is told is that of the rules beside it, also where the host has older ones", async () => {
  const { id } = await world.createSandbox();
  const before = await world.call<EgressReport>("GET", `/v1/sandboxes/${id}/egress`);
  world.host.failures.set("egress", new SkerryError("host_unavailable", "away"));
  expect((await put(id, closed)).status).toBe(503);
  world.host.failures.delete("egress");
  const { body } = await world.call<EgressReport>("GET", `/v1/sandboxes/${id}/egress`);
  expect(body).toMatchObject({ ...closed, version: before.body.version + 1 });
});

test("a change is in force when it is answered, replaces the whole policy, and is told with traffic and denials", async () => {
  const { id } = await world.createSandbox({ egress: { deny_cidrs: ["198.51.100.0/24"] } });
  const answer = await put(id, { mode: "deny_all" });
  const report = { ...closed, version: 2, counters: someTraffic, denied: [denial] };
  expect([answer.status, answer.body]).toEqual([200, report]);
  expect([onHost(id), await stored(id)]).toEqual([closed, closed]);
  expect((await world.call("GET", `/v1/sandboxes/${id}/egress`)).body).toEqual(report);
  expect(await reconcile()).toMatchObject({ changed: 0, failed: 0 });
});

test("a change that cannot be right is refused and changes nothing", async () => {
  const { id } = await world.createSandbox();
  const wrong = await put(id, { allow_cidrs: ["192.0.2.0/24", "10.0.0.0/33"] });
  expect([wrong.status, wrong.body]).toMatchObject([
    400,
    { code: "invalid_cidr", context: { field: "allow_cidrs[1]", value: "10.0.0.0/33" } },
  ]);
  expect((await put(id, { modee: "deny_all" })).body.code).toBe("unknown_field");
  expect((await put(id, undefined)).status).toBe(400);
  expect([onHost(id), await stored(id)]).toEqual([open, open]);
});

test("the rules of another organization's sandbox are neither read nor changed", async () => {
  const { id } = await world.createSandbox();
  const token = await world.strangerToken();
  for (const call of [{ method: "GET" }, { method: "PUT", body: { mode: "deny_all" } }]) {
    const answer = await world.call(call.method, `/v1/sandboxes/${id}/egress`, { ...call, token });
    expect([answer.status, answer.body["code"]]).toEqual([404, "sandbox_not_found"]);
  }
  expect([onHost(id), await stored(id)]).toEqual([open, open]);
});

test("a sandbox that does not run shows its rules without traffic, and they cannot be changed", async () => {
  const { id } = await world.createSandbox({ egress: { mode: "deny_all" } });
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  const shown = await world.call("GET", `/v1/sandboxes/${id}/egress`);
  expect([shown.status, shown.body]).toEqual([
    200,
    { ...closed, version: 1, counters: noTraffic, denied: [] },
  ]);
  const refused = await put(id, { mode: "allow_all" });
  expect([refused.status, refused.body.code]).toEqual([409, "sandbox_not_running"]);
  expect(await stored(id)).toEqual(closed);
});

test("a sandbox whose microVM has ended unnoticed says so instead of taking a change", async () => {
  const { id } = await world.createSandbox();
  world.host.end(id, "the guest ran out of memory");
  expect((await put(id, { mode: "deny_all" })).body.code).toBe("sandbox_not_running");
  expect((await world.call("GET", `/v1/sandboxes/${id}/egress`)).body["code"]).toBe("sandbox_not_running");
});

test("a change while the host is down is not answered as done, and the host gets it when it is back", async () => {
  const { id } = await world.createSandbox();
  await world.host.stop();
  const answer = await put(id, { mode: "deny_all" });
  expect([answer.status, answer.body.code]).toEqual([503, "host_unavailable"]);
  expect(answer.text).toContain("stored, but not yet in force");
  expect(answer.headers.get("retry-after")).toBe("5");
  expect([onHost(id), await stored(id)]).toEqual([open, closed]);
  await world.host.start();
  expect(await reconcile()).toMatchObject({ changed: 1, failed: 0 });
  expect(onHost(id)).toEqual(closed);
  expect(await reconcile()).toMatchObject({ changed: 0, failed: 0 });
});

test("a change that a host refuses is tried again later and later, and a new one at once", async () => {
  const { id } = await world.createSandbox();
  world.host.failures.set("egress", new SkerryError("internal", "nft is not there"));
  expect((await put(id, { mode: "deny_all" })).status).toBe(500);
  expect(await reconcile()).toMatchObject({ changed: 0, failed: 1 });
  const calls = world.host.calls.length;
  await reconcile();
  expect(world.host.calls.slice(calls)).toEqual(["GET /vms"]);
  await put(id, { mode: "deny_all", dns: true });
  world.host.failures.clear();
  expect(await reconcile()).toMatchObject({ changed: 1, failed: 0 });
  expect(onHost(id)).toEqual({ ...closed, dns: true });
});

test("a stuck change does not hold up the destruction of its sandbox", async () => {
  const { id } = await world.createSandbox();
  world.host.failures.set("egress", new SkerryError("internal", "not now"));
  await put(id, { mode: "deny_all" });
  await reconcile();
  world.host.failures.set("destroy", new SkerryError("internal", "not now"));
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  world.host.failures.clear();
  await reconcile();
  expect(world.host.vms.size).toBe(0);
});

test("changes at the same time leave the last one of the row on the host, however slow the host was with the first", async () => {
  const { id } = await world.createSandbox();
  const { entered, release } = holdChange();
  const first = put(id, { mode: "deny_all" });
  await entered;
  // The reconciler does not wait for a request that is at it.
  expect(await reconcile()).toMatchObject({ failed: 0 });
  const others = [1, 2, 3].map((port) => put(id, { allow_cidrs: ["192.0.2.0/24"], allow_ports: [port] }));
  release();
  const statuses = (await Promise.all([first, ...others])).map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 200, 200]);
  expect(onHost(id)).toEqual(await stored(id));
  expect(await reconcile()).toMatchObject({ changed: 0, failed: 0 });
});

test("of two replicas' changes the later one of the row stays on the host, where the earlier one comes after it", async () => {
  const { id } = await world.createSandbox();
  await using other = await openReplica(world);
  const { entered, release } = holdChange();
  const first = put(id, { mode: "deny_all" });
  await entered;
  // Another process queues nothing behind it.
  expect((await put(id, { mode: "allow_all" }, other.url)).status).toBe(200);
  expect(onHost(id)).toEqual(open);
  release();
  expect((await first).status).toBe(200);
  expect([onHost(id), await stored(id)]).toEqual([open, open]);
});

test("more changes than a slow host can take are refused instead of piling up", async () => {
  const { id } = await world.createSandbox();
  const other = await world.createSandbox();
  const release = Promise.withResolvers<void>();
  world.host.beforeEgress = (slow) => (slow === id ? release.promise : Promise.resolve());
  const answers = Array.from({ length: 12 }, () => put(id, { mode: "deny_all" }));
  const refused = await Promise.any(
    answers.map(async (answer) =>
      (await answer).status === 429 ? (await answer).body.code : Promise.reject(),
    ),
  );
  expect(refused).toBe("sandbox_busy");
  expect((await put(other.id, { mode: "deny_all" })).status).toBe(200);
  release.resolve();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  await eventually(() => onHost(id) !== undefined, "the policy is on the host");
});

test("a change that another replica stored, and did not bring to the host, is brought there", async () => {
  const { id } = await world.createSandbox();
  world.host.beforeEgress = async () => {
    world.host.beforeEgress = async () => undefined;
    await sql`
      update sandboxes set egress = ${JSON.stringify(open)}::jsonb, egress_version = egress_version + 1
      where id = ${id}`.execute(world.db);
  };
  const woken = world.rung.length;
  await put(id, { mode: "deny_all" });
  expect(world.rung.length).toBe(woken + 1);
  expect(onHost(id)).toEqual(closed);
  expect(await reconcile()).toMatchObject({ changed: 1, failed: 0 });
  expect(onHost(id)).toEqual(open);
});
