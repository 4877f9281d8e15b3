// Calls into a VM without asking the database where it is: whatever was known a moment ago, they reach what the caller may reach, and only that.

import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { mover } from "../src/moves/mover.ts";
import type { Caller } from "../src/caller.ts";
import { sandboxVms } from "../src/sandboxes/sandbox-vms.ts";
import { callVm } from "../src/vms/vm-kind.ts";
import { VmLocations } from "../src/vms/vm-locations.ts";
import { countingQueries } from "./support/concurrent-requests.ts";
import { openReplica } from "./support/replica.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";
import type { Answer } from "./support/world.ts";

let two: TwoHosts;
let id: string;

beforeEach(async () => {
  two = await TwoHosts.open();
  await two.ask();
  id = await two.sandboxOn(two.first);
  expect((await execute()).status).toBe(200);
});

afterEach(() => two[Symbol.asyncDispose]());

function execute(path = `/v1/sandboxes/${id}`, token = two.world.token) {
  return two.world.call<{ code: string }>("POST", `${path}/execute`, { body: { command: "true" }, token });
}

test("a sandbox that has moved since the last command is called where it is", async () => {
  await two.world.call("POST", `/v1/hosts/${(await two.sandbox(id)).host_id}/drain`);
  await mover(two.world.context, 1_000).activate(never);
  expect([two.first.vms.has(id), two.second.vms.has(id)]).toEqual([false, true]);
  expect((await execute()).status).toBe(200);
});

test("a sandbox that was destroyed through another replica since is not running", async () => {
  await using other = await openReplica(two.world);
  const answer = await fetch(`${other.url}/v1/sandboxes/${id}`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${two.world.token}` },
  });
  expect(answer.status).toBe(204);
  expect((await execute()).body.code).toBe("sandbox_not_running");
});

test("a sandbox that was destroyed is not entered, also where its host has not confirmed it yet", async () => {
  two.first.failures.set("destroy", new SkerryError("host_unavailable", "not now"));
  expect((await two.world.call("DELETE", `/v1/sandboxes/${id}`)).status).toBe(204);
  expect(two.first.vms.has(id)).toBe(true);
  expect((await execute()).body.code).toBe("sandbox_not_running");
});

test("a sandbox that was destroyed through another replica is not entered, also where its host has not confirmed it yet", async () => {
  await using other = await openReplica(two.world);
  two.first.failures.set("destroy", new SkerryError("host_unavailable", "not now"));
  // Known at the last moment before.
  expect((await execute()).status).toBe(200);
  const gone = await two.world.call("DELETE", `/v1/sandboxes/${id}`, { url: other.url });
  expect([gone.status, two.first.vms.has(id)]).toEqual([204, true]);
  expect((await execute()).body.code).toBe("sandbox_not_running");
});

test("a sandbox whose move has ended is called where it is, also where its source has not ended yet", async () => {
  await using other = await openReplica(two.world);
  const elsewhere = (): Promise<Answer<{ code: string }>> =>
    two.world.call("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" }, url: other.url });
  expect((await elsewhere()).status).toBe(200);
  await two.world.call("POST", `/v1/hosts/${(await two.sandbox(id)).host_id}/drain`);
  two.first.failures.set("destroy", new SkerryError("host_unavailable", "not now"));
  await mover(two.world.context, 1_000).activate(never);
  expect([two.first.vms.has(id), two.second.vms.has(id)]).toEqual([true, true]);
  two.first.failures.set("execute", new SkerryError("vm_moving", "The microVM is being moved."));
  const answer = await elsewhere();
  expect(answer.status, answer.text).toBe(200);
});

test("what is known of a sandbox opens it neither to strangers nor under the name of a machine", async () => {
  const stranger = await two.world.strangerToken();
  expect((await execute(`/v1/sandboxes/${id}`, stranger)).body.code).toBe("sandbox_not_found");
  expect((await execute(`/v1/machines/${id}`)).status).toBe(404);
});

test("a host that answers no more is looked up again", async () => {
  two.first.failures.set("execute", new SkerryError("host_unavailable", "not now"));
  expect((await execute()).status).toBeGreaterThanOrEqual(500);
  two.first.failures.clear();
  await two.world.db.updateTable("sandboxes").set({ status: "failed", reason: "lost" }).execute();
  expect((await execute()).body.code).toBe("sandbox_not_running");
});

test("what is known of a sandbox ends with its time, also where that is sooner than it would be asked for again", () => {
  const routes = new VmLocations(60_000);
  const route = { id: "sbx_1", org_id: "org_1", execution_id: "exe_1", address: "/host" };
  const found = () => routes.find("org_1", "sbx_1");
  const askedMs = performance.now() - 5_000;
  routes.keep({ ...route, left_ms: 5_000 }, askedMs);
  expect(found()).toBeUndefined();
  routes.keep({ ...route, left_ms: 50_000 }, askedMs);
  expect(found()).toMatchObject({ address: "/host" });
  // A machine's has no end.
  routes.keep(route, askedMs);
  expect(found()).toMatchObject({ address: "/host" });
});

test("a sandbox that was kept alive is entered after the expiry that was known of it", async () => {
  const { vmLocations } = two.world.context;
  const expired = () => {
    const route = vmLocations.find(two.world.orgId, id);
    if (route === undefined) throw new Error("the sandbox is not known");
    vmLocations.keep({ ...route, left_ms: 0 }, performance.now());
  };
  expired();
  expect(vmLocations.find(two.world.orgId, id)).toBeUndefined();
  expect((await execute()).status).toBe(200);
});

test("whether a sandbox has expired costs no query of its own, and none at all where it is known", async () => {
  const { world } = two;
  let queries = 0;
  const context = { ...world.context, db: world.db.withPlugin(countingQueries(() => (queries += 1))) };
  const call = () =>
    callVm(context, { orgId: world.orgId } as Caller, { kind: sandboxVms, id }, async () => undefined);
  context.vmLocations.forget(id);
  await call();
  // Its row and its host's.
  expect(queries).toBe(2);
  await call();
  expect(queries).toBe(2);
});

test("no more routes are kept than there is room for, and the oldest go first", () => {
  const routes = new VmLocations();
  for (let n = 0; n <= 10_000; n += 1) {
    routes.keep(
      { id: `sbx_${n}`, org_id: "org_1", execution_id: `exe_${n}`, address: "/host" },
      performance.now(),
    );
  }
  expect(routes.find("org_1", "sbx_0")).toBeUndefined();
  expect(routes.find("org_1", "sbx_1")).toMatchObject({ execution_id: "exe_1" });
  expect(routes.find("org_2", "sbx_1")).toBeUndefined();
});
