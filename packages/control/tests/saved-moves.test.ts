// Paused sandboxes and snapshots leave a host that is drained, cut off at every step on fake hosts: whatever happens, the files are where the row says, and in the
// end in one place.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newId } from "@skerry/contract/ids";
import { SkerryError } from "@skerry/contract/errors";
import type { Host } from "@skerry/contract/hosts/host";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { drainFinisher } from "../src/moves/drain-finisher.ts";
import { mover } from "../src/moves/mover.ts";
import type { FakeHost } from "./support/fake-host.ts";
import { compatibility } from "./support/fake-moves.ts";
import type { SavedStep } from "./support/fake-saved-moves.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";

let two: TwoHosts;
let sandbox: string;
let snapshot: string;

beforeEach(async () => {
  two = await TwoHosts.open();
  await two.ask();
  for (let tries = 0; !two.first.vms.has(sandbox) && tries < 20; tries += 1)
    sandbox = (await two.world.createSandbox({ mode: "persistent" })).id;
  snapshot = (await two.world.call<Snapshot>("POST", `/v1/sandboxes/${sandbox}/snapshots`)).body.id;
  expect((await two.world.call("POST", `/v1/sandboxes/${sandbox}/pause`)).status).toBe(200);
});

afterEach(async () => {
  sandbox = "";
  await two[Symbol.asyncDispose]();
});

const steps: readonly SavedStep[] = ["manifest", "prepare", "send", "whole"];

async function activate(stop: AbortSignal = never): Promise<void> {
  await mover(two.world.context, 1_000).activate(stop);
}

async function finishDrains(): Promise<void> {
  await drainFinisher(two.world.context, 1_000).activate(never);
}

async function hostId(fake: FakeHost): Promise<string> {
  const { id } = await two.world.db
    .selectFrom("hosts")
    .select("id")
    .where("name", "=", fake.name)
    .executeTakeFirstOrThrow();
  return id;
}

async function order(fake: FakeHost, what: "drain" | "activate"): Promise<void> {
  expect((await two.world.call("POST", `/v1/hosts/${await hostId(fake)}/${what}`)).status).toBe(200);
}

async function host(fake: FakeHost): Promise<Host> {
  return (await two.world.call<Host>("GET", `/v1/hosts/${await hostId(fake)}`)).body;
}

function everyStep(when: "before" | "after", work: (step: SavedStep, id: string) => Promise<void>): void {
  for (const fake of [two.first, two.second]) fake.savedMoves[when] = work;
}

/** The host of its row. */
async function hostOf(id: string): Promise<string> {
  const path = id === snapshot ? "snapshots" : "sandboxes";
  return (await two.world.call<{ host_id: string }>("GET", `/v1/${path}/${id}`)).body.host_id;
}

/** What is asked for now is there. */
async function expectUsable(id: string): Promise<void> {
  const at = await hostOf(id);
  const fake = at === (await hostId(two.first)) ? two.first : two.second;
  expect(fake.savedMoves.has(id)).toBe(true);
}

/** On one host, and nothing of it on the other. */
async function expectOnlyOn(fake: FakeHost): Promise<void> {
  const other = fake === two.first ? two.second : two.first;
  for (const id of [sandbox, snapshot]) {
    expect(await hostOf(id)).toBe(await hostId(fake));
    expect([fake.savedMoves.has(id), other.savedMoves.has(id)]).toEqual([true, false]);
  }
  expect([other.vms.has(sandbox), other.savedMoves.arrivals.size]).toEqual([false, 0]);
}

/** As if what failed had failed long ago. */
async function later(): Promise<void> {
  await two.world.db
    .updateTable("moves")
    .set({ retry_at: new Date(0), status_since: new Date(0) })
    .execute();
}

test("a drain carries what is paused and snapshots to the other host, and ends when they are gone", async () => {
  everyStep("after", async (_step, id) => expectUsable(id));
  await order(two.first, "drain");
  await finishDrains();
  expect((await host(two.first)).status).toBe("draining");
  await activate();
  await expectOnlyOn(two.second);
  await finishDrains();
  expect(await host(two.first)).toMatchObject({ status: "maintenance", waits_for: null });
  const resumed = await two.world.call("POST", `/v1/sandboxes/${sandbox}/execute`, {
    body: { command: "true" },
  });
  expect(resumed.status).toBe(200);
  expect(two.second.vms.get(sandbox)).toMatchObject({
    status: "running",
    spec: { from: { kind: "paused" } },
  });
  const created = await two.world.call("POST", "/v1/sandboxes", { body: { snapshot } });
  expect(created.status).toBe(201);
  const actions = await two.world.db
    .selectFrom("audit_events")
    .select("action")
    .where("action", "in", ["sandbox.move", "snapshot.move"])
    .orderBy("action")
    .execute();
  expect(actions.map(({ action }) => action)).toEqual(["sandbox.move", "snapshot.move"]);
});

for (const step of steps) {
  for (const when of ["before", "after"] as const) {
    test(`where a host fails ${when} "${step}" all stays where it is, and goes later`, async () => {
      await order(two.first, "drain");
      const failed = new Set<string>();
      everyStep(when, async (at, id) => {
        await expectUsable(id);
        if (at !== step || failed.has(id)) return;
        failed.add(id);
        throw new SkerryError("internal", "the disk is on fire");
      });
      await activate();
      await later();
      await activate();
      expect([...failed].toSorted()).toEqual([sandbox, snapshot].toSorted());
      await expectOnlyOn(two.second);
    });

    test(`where control dies ${when} "${step}" the next one carries on`, async () => {
      await order(two.first, "drain");
      const death = new AbortController();
      everyStep(when, async (at, id) => {
        await expectUsable(id);
        if (at === step) death.abort();
      });
      await activate(death.signal).catch(() => undefined);
      everyStep(when, async (_step, id) => expectUsable(id));
      await later();
      await activate();
      await later();
      await activate();
      // What was being removed from the source when control died.
      await two.cleanUp();
      await expectOnlyOn(two.second);
      await finishDrains();
      expect((await host(two.first)).status).toBe("maintenance");
    });
  }
}

test("a drain that is taken back in the middle leaves all where it is, and nothing on the other host", async () => {
  await order(two.first, "drain");
  let isBack: Promise<void> | undefined;
  // Neither is sent before that.
  everyStep("before", async (step) =>
    step === "send" ? (isBack ??= order(two.first, "activate")) : undefined,
  );
  await activate();
  await later();
  await activate();
  await expectOnlyOn(two.first);
});

test("where no host can go on with them the drain does not end, and says why", async () => {
  const facts = { ...compatibility, cpu: "another" };
  two.second.savedMoves.runsHere = facts;
  await two.ask(two.second.socketPath);
  await order(two.first, "drain");
  await activate();
  await finishDrains();
  await expectOnlyOn(two.first);
  const { status, waits_for } = await host(two.first);
  expect(status).toBe("draining");
  expect(waits_for).toMatch(/^the paused sandbox \w+ has nowhere to go: the CPU is another: another there/);
});

test("what was saved of an organization's own template stays where it is while no other host can get the template, and nothing carries it away", async () => {
  const templateId = newId("template");
  for (const table of ["sandboxes", "snapshots"] as const)
    await two.world.db.updateTable(table).set({ template: templateId }).execute();
  await order(two.first, "drain");
  await activate();
  await expectOnlyOn(two.first);
  expect((await host(two.first)).waits_for).toMatch(
    new RegExp(`^the paused sandbox \\w+ has nowhere to go: no host in reach has its template ${templateId}`),
  );
  // Nor does something that is to begin from it take it along to a host with room.
  await order(two.first, "activate");
  two.first.memoryMib = 100;
  await two.ask();
  const created = await two.world.call("POST", "/v1/sandboxes", { body: { snapshot } });
  expect([created.status, created.body["code"]]).toEqual([503, "no_capacity"]);
  await expectOnlyOn(two.first);
});

test("snapshots that can go nowhere, however many, do not keep one behind them from leaving", async () => {
  // Ids that sort before every other: the one that can go is the last.
  await sql`
    insert into snapshots
    select copy.* from snapshots one, generate_series(1, 100) number, jsonb_populate_record(one, jsonb_build_object(
      'id', 'snp_' || lpad(number::text, 26, '0'), 'name', null, 'runs_on', ${JSON.stringify({ ...compatibility, cpu: "another" })}::jsonb
    )) copy
    where one.id = ${snapshot}`.execute(two.world.db);
  await order(two.first, "drain");
  const moves = mover(two.world.context, 1_000);
  for (let looks = 0; looks < 5; looks += 1) await moves.activate(never);
  expect([await hostOf(snapshot), two.second.savedMoves.has(snapshot)]).toEqual([
    await hostId(two.second),
    true,
  ]);
  expect((await host(two.first)).waits_for).toMatch(/^the snapshot snp_0+\d+ has nowhere to go/);
  await finishDrains();
  expect((await host(two.first)).status).toBe("draining");
});

test("what cannot go on there after all is refused by the target, in words that the operator sees", async () => {
  two.first.savedMoves.lies = { runs_on: { ...compatibility, qemu_version: "9.9.0" } };
  await order(two.first, "drain");
  await activate();
  await expectOnlyOn(two.first);
  // However long this takes: it has failed lately.
  await two.world.db
    .updateTable("moves")
    .set({ status_since: new Date(Date.now() + 3_600_000) })
    .execute();
  await activate();
  expect((await host(two.first)).waits_for).toMatch(/QEMU is 7\.2\.0 there and 9\.9\.0 here/);
});

test("a source that describes something larger moves nothing", async () => {
  two.first.savedMoves.lies = { disk_gib: 1_000 };
  await order(two.first, "drain");
  await activate();
  await expectOnlyOn(two.first);
});

test("what is on its way is not resumed, and one that has come is", async () => {
  await order(two.first, "drain");
  const statuses: number[] = [];
  everyStep("after", async (step, id) => {
    if (step !== "send" || id !== sandbox) return;
    const { status, headers } = await two.world.call("POST", `/v1/sandboxes/${sandbox}/resume`);
    statuses.push(status);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  });
  await activate();
  expect(statuses).toEqual([503]);
  expect((await two.world.call("POST", `/v1/sandboxes/${sandbox}/resume`)).status).toBe(200);
  expect(two.second.vms.get(sandbox)?.status).toBe("running");
});

test("what is destroyed or deleted on its way is on neither host", async () => {
  await order(two.first, "drain");
  everyStep("after", async (step, id) => {
    if (step !== "send") return;
    const path = id === snapshot ? "snapshots" : "sandboxes";
    const { status } = await two.world.call("DELETE", `/v1/${path}/${id}`);
    expect([200, 204]).toContain(status);
  });
  await activate();
  await later();
  await activate();
  for (const fake of [two.first, two.second])
    expect([fake.vms.has(sandbox), fake.snapshots.kept.size, fake.savedMoves.arrivals.size]).toEqual([
      false,
      0,
      0,
    ]);
  await finishDrains();
  expect((await host(two.first)).status).toBe("maintenance");
});

test("a sandbox that begins from a snapshot when that leaves begins where it was", async () => {
  const gate = Promise.withResolvers<void>();
  const begins = Promise.withResolvers<void>();
  two.first.beforeStart = async () => {
    begins.resolve();
    await gate.promise;
  };
  const creating = two.world.call("POST", "/v1/sandboxes", { body: { snapshot } });
  await begins.promise;
  await order(two.first, "drain");
  await activate();
  expect([await hostOf(snapshot), two.first.snapshots.kept.has(snapshot)]).toEqual([
    await hostId(two.second),
    true,
  ]);
  gate.resolve();
  expect((await creating).status).toBe(201);
  await later();
  await activate();
  expect(two.first.snapshots.kept.has(snapshot)).toBe(false);
});

test("VM cleanup takes nothing away that is on its way", async () => {
  await order(two.first, "drain");
  everyStep("after", async (_step, id) => {
    await two.cleanUp();
    await expectUsable(id);
  });
  await activate();
  await two.cleanUp();
  await expectOnlyOn(two.second);
});
