// A host that answers, and always with an error: what its row and the log say meanwhile, and what becomes of
// it then. That every status ends there is in no-status-for-ever.test.ts.

import { sql } from "kysely";
import { beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Machine } from "@skerry/contract/machines/machine";
import type { VmEventList } from "@skerry/contract/vms/events";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import { TRIES_MAX } from "../src/vms/postpone.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const broken = new SkerryError("internal", "The host failed.");
const SAID = "its host fails: The host failed.";

beforeEach(() => {
  world.host.failures.clear();
  world.host.snapshots.deletionFailure = undefined;
  world.log.length = 0;
});

const cleanUp = () => vmReconciler(world.context, 1_000).activate(new AbortController().signal);

/** One turn of VM cleanup, when the next attempt is due. */
async function attempt(table: "sandboxes" | "machines" | "snapshots", id: string): Promise<void> {
  const due = table === "snapshots" ? "" : "claimed_until = null,";
  await sql`update ${sql.table(table)} set ${sql.raw(due)} retry_at = now() where id = ${id}`.execute(
    world.db,
  );
  await cleanUp();
}

const rowOf = async (path: string) =>
  (await world.call<{ status: string; reason: string | null }>("GET", `/v1/${path}`)).body;
/** Lines of the log about failures of hosts. */
const logged = (): unknown[] =>
  world.log.filter(({ msg }) => String(msg).startsWith("a host has failed at")).map(({ msg }) => msg);
const callsOf = (call: string): number => world.host.calls.filter((one) => one === call).length;

test("a machine that its host cannot stop says why, runs on after eight attempts, and can be stopped again", async () => {
  const { id } = await world.createMachine({ command: "exec count" });
  world.host.failures.set("stop", broken);
  const asked = await world.call<Machine>("POST", `/v1/machines/${id}/stop`);
  expect([asked.status, asked.body.status]).toEqual([202, "stopping"]);
  expect(await rowOf(`machines/${id}`)).toMatchObject({ status: "stopping", reason: SAID });
  for (let turn = 1; turn < TRIES_MAX; turn += 1) await attempt("machines", id);
  expect(await rowOf(`machines/${id}`)).toMatchObject({
    ...{ status: "running", desired: "running" },
    reason: "it could not be stopped: The host failed.",
  });
  await cleanUp();
  expect(callsOf(`POST /vms/${id}/stop`)).toBe(TRIES_MAX);
  expect(logged()).toEqual([
    "a host has failed at a VM, and is asked again",
    "a host has failed at a VM too often, and is asked no more",
  ]);
  const events = await world.call<VmEventList>("GET", `/v1/machines/${id}/events`);
  expect(events.body.items.map(({ kind, reason }) => [kind, reason])).toContainEqual([
    "stop_failed",
    "it could not be stopped: The host failed.",
  ]);
  world.host.failures.clear();
  const again = await world.call<Machine>("POST", `/v1/machines/${id}/stop`);
  expect([again.status, again.body.status, again.body.reason]).toEqual([
    200,
    "stopped",
    "stopped by request",
  ]);
});

test("a machine that does not run any more has stopped, also where its host cannot clear it up", async () => {
  const { id } = await world.createMachine({ command: "exec count" });
  world.host.failures.set("stop", broken);
  await world.call("POST", `/v1/machines/${id}/stop`);
  world.host.end(id, "it ended");
  for (let turn = 1; turn < TRIES_MAX; turn += 1) await attempt("machines", id);
  expect((await rowOf(`machines/${id}`)).status).toBe("stopped");
});

test("an attempt that succeeds leaves nothing of the failures before it in the reason", async () => {
  const { id } = await world.createSandbox();
  world.host.failures.set("destroy", broken);
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  expect(await rowOf(`sandboxes/${id}`)).toMatchObject({
    ...{ status: "destroying", reason: `destroyed by request; ${SAID}` },
  });
  world.host.failures.clear();
  await attempt("sandboxes", id);
  expect(await rowOf(`sandboxes/${id}`)).toMatchObject({
    ...{ status: "destroyed", reason: "destroyed by request" },
  });
});

test("what a host does not destroy is destroyed after eight attempts, and its host is asked later and later to remove it", async () => {
  const { id } = await world.createSandbox();
  world.host.failures.set("destroy", broken);
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  for (let turn = 1; turn < TRIES_MAX; turn += 1) await attempt("sandboxes", id);
  expect(await rowOf(`sandboxes/${id}`)).toMatchObject({
    ...{ status: "destroyed", reason: `destroyed by request; ${SAID}` },
  });
  await cleanUp();
  const asked = callsOf(`DELETE /vms/${id}`);
  // It waits for its next attempt.
  await cleanUp();
  expect([callsOf(`DELETE /vms/${id}`), world.host.vms.has(id)]).toEqual([asked, true]);
  world.host.failures.clear();
  await attempt("sandboxes", id);
  expect(world.host.vms.has(id)).toBe(false);
});

test("a snapshot that its host does not delete is deleted, and its files go whenever the host lets them", async () => {
  const { id: vm } = await world.createSandbox();
  const { id } = (await world.call<{ id: string }>("POST", `/v1/sandboxes/${vm}/snapshots`)).body;
  world.host.snapshots.deletionFailure = broken;
  expect((await world.call("DELETE", `/v1/snapshots/${id}`)).status).toBe(204);
  expect(await rowOf(`snapshots/${id}`)).toMatchObject({ status: "deleting", reason: SAID });
  for (let turn = 1; turn < TRIES_MAX; turn += 1) await attempt("snapshots", id);
  expect((await world.call("GET", `/v1/snapshots/${id}`)).status).toBe(404);
  expect(logged()).toEqual([
    "a host has failed at a snapshot, and is asked again",
    "a host has failed at a snapshot too often, and is asked no more",
  ]);
  world.host.snapshots.deletionFailure = undefined;
  await sql`update snapshots set deleted_at = now() - interval '1 day' where id = ${id}`.execute(world.db);
  await attempt("snapshots", id);
  expect(world.host.snapshots.kept.has(id)).toBe(false);
});

test("a host that is away is none of the attempts", async () => {
  const { id } = await world.createSandbox();
  world.host.failures.set("destroy", new SkerryError("host_unavailable", "The host is being restarted."));
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  for (let turn = 0; turn < TRIES_MAX + 2; turn += 1) await attempt("sandboxes", id);
  expect((await rowOf(`sandboxes/${id}`)).status).toBe("destroying");
});
