// The database's clock is set back by hours: what had been put off until a time that then is hours away is done all the same.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { mover } from "../src/moves/mover.ts";
import { layerStorer } from "../src/object-store/layer-storer.ts";
import { Bucket } from "../src/object-store/bucket.ts";
import { templateSpreader } from "../src/moves/template-spreader.ts";
import { isAhead } from "../src/db/clock-set-back.ts";
import { findKey } from "../src/idempotency/idempotency-key-store.ts";
import { S3Server } from "../../../tests/support/s3-server.ts";
import { builtTemplate } from "./support/builds.ts";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";

const LATER = sql`now() + interval '2 hours'`;

let two: TwoHosts;
beforeEach(async () => {
  two = await TwoHosts.open();
});
afterEach(() => two[Symbol.asyncDispose]());

test("a time that is as far off as it can have been put is waited for, and one that is further off is not", async () => {
  const { rows } = await sql<{ off: string; ahead: boolean }>`
    select off::text, ${isAhead("at", 15_000)} as ahead
    from (select off, now() + off as at from unnest(
      array['-1 s', '0 s', '1 s', '15 s', '75 s', '76 s', '2 h']::interval[]) as off) times`.execute(
    two.world.db,
  );
  expect(rows.map(({ ahead }) => ahead)).toEqual([false, false, true, true, true, false, false]);
});

test("a sandbox whose creator has died fails", async () => {
  const id = await two.sandboxOn(two.first);
  two.first.vms.delete(id);
  await sql`update sandboxes set status = 'creating', claimed_until = ${LATER} where id = ${id}`.execute(
    two.world.db,
  );
  await two.cleanUp();
  expect((await two.sandbox(id)).status).toBe("failed");
});

test("a destruction that failed once is finished", async () => {
  const id = await two.sandboxOn(two.first);
  two.first.failures.set("destroy", new SkerryError("host_unavailable", "not now"));
  await two.world.call("DELETE", `/v1/sandboxes/${id}`);
  two.first.failures.clear();
  await sql`update sandboxes set retry_at = ${LATER} where id = ${id}`.execute(two.world.db);
  await two.cleanUp();
  expect([(await two.sandbox(id)).status, two.first.vms.has(id)]).toEqual(["destroyed", false]);
});

test("a machine that waits in the queue is started", async () => {
  const upkeep = new MachineUpkeep(two.world);
  const { id } = await two.world.createMachine();
  for (const host of [two.first, two.second])
    if (host.vms.has(id)) host.end(id, "it ended", { cause: "qemu_ended" });
  await upkeep.cleanUp();
  await upkeep.due("2 hours");
  await upkeep.startWaiting();
  expect((await upkeep.get(id)).status).toBe("running");
});

test("a move that failed once goes on", async () => {
  const id = await two.sandboxOn(two.first);
  const { host_id } = await two.sandbox(id);
  await sql`
    insert into moves (id, vm_id, from_host_id, to_host_id, from_execution_id, to_execution_id, ticket, vcpus, memory_mib, status, retry_at)
    select 'mov_1', id, host_id, (select id from hosts where id <> host_id), execution_id, 'exe_new', 'ticket', vcpus, memory_mib,
           'canceling', ${LATER}
    from sandboxes where id = ${id} and host_id = ${host_id}`.execute(two.world.db);
  await mover(two.world.context, 1_000).activate(never);
  const { rows } = await sql`select status from moves`.execute(two.world.db);
  expect(rows).toEqual([{ status: "canceled" }]);
});

test("a key whose attempt has died is free", async () => {
  const key = "a-key";
  await two.world.call("POST", "/v1/sandboxes", {
    body: { template: "base" },
    headers: { "idempotency-key": key },
  });
  await sql`update idempotency_keys set claimed_until = ${LATER}`.execute(two.world.db);
  const { body: me } = await two.world.call<{ user_id: string }>("GET", "/v1/auth/me");
  const entry = await findKey(two.world.db, { orgId: two.world.orgId, userId: me.user_id, key });
  expect(entry?.lapsed).toBe(true);
});

test("a host that dies just before it is offline when it has been silent for long enough, and gets nothing until it is back", async () => {
  const id = await two.sandboxOn(two.second);
  await two.second.stop();
  await two.ask();
  await sql`
    update hosts set last_heartbeat = ${LATER}, silent_since = ${LATER}, silent_until = ${LATER}
    where name = 'second'`.execute(two.world.db);
  // Its first silence by the new clock. What was written before says nothing of how long it has been silent.
  await two.ask();
  await two.judge();
  expect((await two.host("second")).status).toBe("online");
  await sql`
    update hosts set silent_since = silent_since - interval '31 s' where name = 'second'`.execute(
    two.world.db,
  );
  await two.world.context.hostCapacity.refreshNow();
  expect(two.world.context.hostCapacity.hosts.map(({ address }) => address)).toEqual([
    `unix:${two.first.socketPath}`,
  ]);
  await two.judge();
  expect([(await two.host("second")).status, (await two.sandbox(id)).status]).toEqual([
    "offline",
    "unreachable",
  ]);
});

test("a host that answers gets VMs, though its last heartbeat is from before", async () => {
  await sql`update hosts set last_heartbeat = ${LATER}`.execute(two.world.db);
  await two.judge();
  await two.world.context.hostCapacity.refreshNow();
  expect(two.world.context.hostCapacity.hosts).toHaveLength(2);
});

test("a host to which a move has failed is a target again", async () => {
  const id = await two.sandboxOn(two.first);
  const failed = sql`
    insert into moves (id, vm_id, from_host_id, to_host_id, from_execution_id, to_execution_id, ticket, vcpus, memory_mib, status, status_since)
    select 'mov_1', id, host_id, (select id from hosts where id <> host_id), execution_id, 'exe_new', '', vcpus, memory_mib, 'failed', ${LATER}
    from sandboxes where id = ${id}`;
  await failed.execute(two.world.db);
  await sql`update hosts set desired = 'drained', status = 'draining' where name = 'fake'`.execute(
    two.world.db,
  );
  await mover(two.world.context, 1_000).activate(never);
  expect(two.second.vms.has(id)).toBe(true);
});

test("a template that did not get to another host gets there", async () => {
  const template = String((await builtTemplate(two.world)).template_id);
  const [from, to] = two.first.templates.kept.has(template)
    ? [two.first, two.second]
    : [two.second, two.first];
  const idOf = (name: string) => sql`(select id from hosts where name = ${name})`;
  await sql`
    insert into template_copies (template_id, host_id, status, sizes, ticket, reason, due_at)
    values (${template}, ${idOf(to.name)}, 'failed', '{}', 'ticket', 'it failed', ${LATER})`.execute(
    two.world.db,
  );
  await sql`update hosts set desired = 'drained', status = 'draining' where name = ${from.name}`.execute(
    two.world.db,
  );
  const spread = () => templateSpreader(two.world.context, 1_000).activate(never);
  await spread();
  expect(to.templates.has(template)).toBe(true);
});

test("a copy of a template that is tried again later is tried now", async () => {
  const template = String((await builtTemplate(two.world)).template_id);
  const to = two.first.templates.kept.has(template) ? two.second : two.first;
  await sql`
    insert into template_copies (template_id, host_id, status, sizes, ticket, due_at)
    values (${template}, (select id from hosts where name = ${to.name}), 'copying', '{}', 'ticket', ${LATER})`.execute(
    two.world.db,
  );
  await templateSpreader(two.world.context, 1_000).activate(never);
  expect(to.templates.has(template)).toBe(true);
});

test("layers of templates are stored, and those that none needs are deleted", async () => {
  await using server = await S3Server.start();
  const { url, credentialsFile } = server;
  const objectStore = new Bucket({ url, region: "us-east-1", credentialsFile });
  Object.assign(two.world.context, { objectStore });
  await builtTemplate(two.world);
  const keep = () => layerStorer(two.world.context, 1_000).activate(never);
  const stored = () => sql`select status from stored_layers`.execute(two.world.db);
  const putOff = () =>
    sql`update stored_layers set due_at = ${LATER}, urls_until = ${LATER}`.execute(two.world.db);
  const hosts = [two.first, two.second];
  for (const { templates } of hosts)
    templates.failures.set("store", new SkerryError("host_unavailable", "not now"));
  await keep();
  for (const { templates } of hosts) templates.failures.clear();
  await putOff();
  await keep();
  expect((await stored()).rows).toEqual([{ status: "ready" }, { status: "ready" }]);
  await two.world.call("DELETE", "/v1/templates/web");
  await keep();
  await putOff();
  await keep();
  expect([(await stored()).rows, await server.objects()]).toEqual([[], []]);
});
