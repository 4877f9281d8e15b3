// A sandbox whose host is silent: it may well run on there, so it is neither given up nor replaced.

import { afterEach, beforeEach, expect, test } from "vitest";
import { TwoHosts } from "./support/two-hosts.ts";

let two: TwoHosts;
let id: string;
beforeEach(async () => {
  two = await TwoHosts.open();
  id = await two.sandboxOn(two.second);
});
afterEach(() => two[Symbol.asyncDispose]());

async function loseHost(): Promise<void> {
  await two.second.stop();
  await two.silence();
  await two.judge();
}

test("a call for a sandbox of a silent host says that it may come back, and not to make another one", async () => {
  await loseHost();
  two.world.context.vmLocations.forget(id);
  const { status, body } = await two.world.call<{ code: string; message: string; remediation: string }>(
    "POST",
    `/v1/sandboxes/${id}/execute`,
    { body: { command: "true" } },
  );
  expect([status, body.code]).toEqual([503, "host_unavailable"]);
  expect(body.message).toContain("host_offline: its host second is offline");
  expect(body.remediation).not.toContain("reate another");
});

test("it is listed by its status, its time can be extended, and it can be destroyed", async () => {
  await loseHost();
  const { body } = await two.world.call<{ items: { id: string }[] }>(
    "GET",
    "/v1/sandboxes?status=unreachable",
  );
  expect(body.items.map((item) => item.id)).toContain(id);
  const kept = await two.world.call("POST", `/v1/sandboxes/${id}/keepalive`, { body: { timeout: "2h" } });
  expect([kept.status, kept.body["status"]]).toEqual([200, "unreachable"]);
  expect((await two.world.call("DELETE", `/v1/sandboxes/${id}`)).status).toBe(204);
  await two.second.start();
  await two.ask();
  await two.cleanUp();
  expect([(await two.sandbox(id)).status, two.second.vms.has(id)]).toEqual(["destroyed", false]);
});

test("it has failed when its host is back without it", async () => {
  await loseHost();
  two.second.vms.delete(id);
  await two.second.start();
  await two.ask();
  await two.cleanUp();
  expect(await two.sandbox(id)).toMatchObject({ status: "failed" });
});

test("it has failed when its host is removed", async () => {
  await loseHost();
  const host = (
    await two.world.db.selectFrom("hosts").select("id").where("name", "=", "second").execute()
  )[0];
  await two.world.db.updateTable("hosts").set({ joined: true }).where("name", "=", "second").execute();
  const removed = await two.world.call("DELETE", `/v1/hosts/${host?.id}?force=true`);
  expect(removed.status).toBe(204);
  expect((await two.sandbox(id)).status).toBe("failed");
});

test("one whose record its host cannot use is unreachable until a host process can, and fails where the record is damaged", async () => {
  const vm = two.second.vms.get(id);
  if (vm === undefined) throw new Error("no VM");
  const unread = { ...vm, status: "gone", execution_id: "unknown", reason: "it is newer" } as const;
  two.second.vms.set(id, { ...unread, cause: "not_adopted" });
  await two.cleanUp();
  await two.cleanUp();
  expect(await two.sandbox(id)).toMatchObject({ status: "unreachable" });
  two.second.vms.set(id, vm);
  await two.cleanUp();
  expect(await two.sandbox(id)).toMatchObject({ status: "running", reason: null });
  two.second.vms.set(id, { ...unread, cause: "disk_unreadable" });
  await two.cleanUp();
  expect((await two.sandbox(id)).status).toBe("failed");
});
