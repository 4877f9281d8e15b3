// A move on fake hosts, cut off at every step: whatever happens, the VM never runs twice, and in the end it runs once.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { mover } from "../src/moves/mover.ts";
import { templateSpreader } from "../src/moves/template-spreader.ts";
import type { Report } from "../src/background/background-service.ts";
import type { FakeHost } from "./support/fake-host.ts";
import type { MoveStep } from "./support/fake-moves.ts";
import { builtTemplate } from "./support/builds.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";

let two: TwoHosts;
let id: string;

beforeEach(async () => {
  two = await TwoHosts.open();
  await two.ask();
  id = await two.sandboxOn(two.first);
});

afterEach(async () => {
  await two[Symbol.asyncDispose]();
});

const steps: readonly MoveStep[] = ["manifest", "prepare", "send", "whole", "resume"];

function activate(stop: AbortSignal = never): Promise<Report> {
  return mover(two.world.context, 1_000).activate(stop);
}

async function hostId(fake: FakeHost): Promise<string> {
  const row = await two.world.db
    .selectFrom("hosts")
    .select("id")
    .where("name", "=", fake.name)
    .executeTakeFirstOrThrow();
  return row.id;
}

async function params(fake: FakeHost, what: "drain" | "activate"): Promise<void> {
  const { status } = await two.world.call("POST", `/v1/hosts/${await hostId(fake)}/${what}`);
  expect(status).toBe(200);
}

/** Where its guest executes something. */
function runningOn(): FakeHost[] {
  return [two.first, two.second].filter((fake) => fake.moves.runs(id));
}

function everyStep(when: "before" | "after", work: (step: MoveStep) => Promise<void>): void {
  for (const fake of [two.first, two.second]) fake.moves[when] = work;
}

async function moves(): Promise<{ status: string; reason: string | null }[]> {
  return two.world.db.selectFrom("moves").select(["status", "reason"]).orderBy("id").execute();
}

/** As if what failed had failed long ago. */
async function later(): Promise<void> {
  await two.world.db
    .updateTable("moves")
    .set({ retry_at: new Date(0), status_since: new Date(0) })
    .execute();
}

test("a drain moves what runs to the other host, under the policy of its row, and the source keeps nothing", async () => {
  await params(two.first, "drain");
  everyStep("after", async () => expect(runningOn().length).toBeLessThan(2));
  await activate();
  const sandbox = await two.sandbox(id);
  expect([sandbox.status, sandbox.host_id]).toEqual(["running", await hostId(two.second)]);
  expect([runningOn(), two.first.vms.has(id)]).toEqual([[two.second], false]);
  expect(two.second.moves.policies.map(({ egress }) => egress)).toEqual([sandbox.egress]);
  expect(await moves()).toEqual([{ status: "done", reason: null }]);
  const execute = await two.world.call("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" } });
  expect(execute.status).toBe(200);
});

for (const step of steps) {
  for (const when of ["before", "after"] as const) {
    test(`a move whose host fails ${when} "${step}" leaves the VM running once`, async () => {
      await params(two.first, "drain");
      let failures = 0;
      everyStep(when, async (at) => {
        expect(runningOn().length).toBeLessThan(2);
        if (at !== step || failures > 0) return;
        failures += 1;
        throw new SkerryError("internal", "the disk is on fire");
      });
      await activate();
      expect(failures).toBe(1);
      const { status, host_id } = await two.sandbox(id);
      const at = step === "resume" ? two.second : two.first;
      expect([status, host_id]).toEqual(["running", await hostId(at)]);
      if (step !== "resume") {
        expect(runningOn()).toEqual([two.first]);
        expect(two.second.vms.has(id)).toBe(false);
        expect((await moves())[0]).toMatchObject({ status: "failed", reason: "failed: the disk is on fire" });
      }
      await later();
      await activate();
      expect(runningOn()).toEqual([two.second]);
    });

    test(`a move whose control dies ${when} "${step}" is carried on by the next one`, async () => {
      await params(two.first, "drain");
      const death = new AbortController();
      everyStep(when, async (at) => {
        expect(runningOn().length).toBeLessThan(2);
        if (at === step) death.abort();
      });
      await activate(death.signal).catch(() => undefined);
      expect((await two.sandbox(id)).status).toBe("running");
      everyStep(when, async () => expect(runningOn().length).toBeLessThan(2));
      await later();
      await activate();
      expect(runningOn()).toEqual([two.second]);
      expect(two.first.vms.has(id)).toBe(false);
      expect((await moves()).map(({ status }) => status)).toEqual(["done"]);
    });
  }
}

test.each([
  ["a larger size than was reserved", { size: "performance-16x" }],
  ["a larger disk than was reserved", { disk_gib: 1_024 }],
  ["a machine for a sandbox", { machine: { command: null } }],
])("a source that claims %s moves nothing", async (_what, lies) => {
  two.first.moves.lies = lies;
  await params(two.first, "drain");
  await activate();
  expect(await moves()).toEqual([{ status: "failed", reason: "failed: the source describes another VM" }]);
  expect([runningOn(), two.second.vms.has(id)]).toEqual([[two.first], false]);
});

test("a drain that is taken back while a VM is on its way leaves it where it is", async () => {
  await params(two.first, "drain");
  two.first.moves.before = async (step) => {
    if (step !== "send") return;
    await params(two.first, "activate");
  };
  await activate();
  expect(runningOn()).toEqual([two.first]);
  expect(two.second.vms.has(id)).toBe(false);
  expect((await moves()).map(({ status }) => status)).toEqual(["canceled"]);
});

test("a sandbox that is destroyed on its way is gone from both hosts", async () => {
  await params(two.first, "drain");
  two.first.moves.after = async (step) => {
    if (step === "send") await two.world.call("DELETE", `/v1/sandboxes/${id}`);
  };
  await activate();
  expect((await two.sandbox(id)).status).toBe("destroyed");
  expect([two.first.vms.has(id), two.second.vms.has(id)]).toEqual([false, false]);
});

test.each(steps)("a change of a sandbox before the step %s of its move stays", async (step) => {
  await params(two.first, "drain");
  const change = { name: "renamed", metadata: { at: step }, auto_resume: false };
  let status = 0;
  everyStep("before", async (at) => {
    if (at === step && status === 0)
      status = (await two.world.call("PATCH", `/v1/sandboxes/${id}`, { body: change })).status;
  });
  await activate();
  expect([status, runningOn()]).toEqual([200, [two.second]]);
  expect(await two.sandbox(id)).toMatchObject({ ...change, host_id: await hostId(two.second) });
});

test("who compares rows and VMs leaves alone what arrives, and removes it when its move has ended", async () => {
  await params(two.first, "drain");
  two.first.moves.before = async (step) => {
    if (step !== "send") return;
    await two.cleanUp();
    expect(two.second.vms.has(id)).toBe(true);
    throw new SkerryError("move_failed", "no way through");
  };
  await activate();
  expect(two.second.vms.has(id)).toBe(false);
});

test("a drain says what it waits for, and what has no room stays where it runs", async () => {
  two.second.memoryMib = 100;
  await two.ask();
  await params(two.first, "drain");
  await activate();
  const { body } = await two.world.call<{ waits_for: string }>("GET", `/v1/hosts/${await hostId(two.first)}`);
  expect(body.waits_for).toContain(`${id} (256 MiB, 1 vCPUs)`);
  expect(runningOn()).toEqual([two.first]);
});

test("what was made of an organization's own template goes to another host after its template, and a drain says so", async () => {
  const templateId = String((await builtTemplate(two.world)).template_id);
  await sql`update template_hosts set host_id = ${await hostId(two.first)}`.execute(two.world.db);
  for (const digest of two.second.templates.layers) two.first.templates.layers.add(digest);
  two.second.templates.layers.clear();
  await sql`update sandboxes set template = ${templateId} where id = ${id}`.execute(two.world.db);
  await params(two.first, "drain");
  await activate();
  const { body } = await two.world.call<{ waits_for: string }>("GET", `/v1/hosts/${await hostId(two.first)}`);
  expect(body.waits_for).toMatch(
    new RegExp(`^${id} .* cannot go on elsewhere yet: its template ${templateId} is on its way`),
  );
  expect([runningOn(), await moves()]).toEqual([[two.first], []]);
  await templateSpreader(two.world.context, 1_000).activate(never);
  expect(two.second.templates.has(templateId)).toBe(true);
  await activate();
  expect(runningOn()).toEqual([two.second]);
});

test("a transfer that takes long keeps no other VM from going on where it has got to", async () => {
  const slow = id;
  const quick = await two.sandboxOn(two.first);
  const quickRuns = new Promise<void>((resolve) => {
    let failures = 0;
    two.first.moves.before = async (step, vm) => {
      if (step === "send" && vm === slow) await quickRunsOrStop;
    };
    two.second.moves.before = async (step, vm) => {
      if (step !== "resume" || vm !== quick || failures > 0) return;
      failures += 1;
      throw new SkerryError("internal", "not now");
    };
    two.second.moves.after = async (step, vm) => {
      if (step === "resume" && vm === quick) resolve();
    };
  });
  const stop = new AbortController();
  const quickRunsOrStop = Promise.race([
    quickRuns,
    new Promise((resolve) => (stop.signal.onabort = resolve)),
  ]);
  await params(two.first, "drain");
  await activate(stop.signal);
  expect(two.second.moves.runs(quick)).toBe(true);
  expect(runningOn()).toEqual([two.second]);
});

test.for(["first", "second"] as const)(
  "a move whose %s host falls silent on the way breaks off",
  async (name) => {
    await params(two.first, "drain");
    let silent = true;
    two.first.moves.before = async (step) => {
      if (step !== "send" || !silent) return;
      silent = false;
      await two.world.db
        .updateTable("hosts")
        .set({ status: "offline" })
        .where("name", "=", two[name].name)
        .execute();
      await new Promise(() => undefined);
    };
    await activate();
    expect(runningOn()).toEqual([two.first]);
    expect(two.second.vms.has(id)).toBe(false);
    expect(await moves()).toEqual([{ status: "failed", reason: "failed: a host of the move is offline" }]);
  },
);

test("a host that a VM is on its way to is removed only by force", async () => {
  await sql`update hosts set joined = true where name = 'second'`.execute(two.world.db);
  const second = await hostId(two.second);
  await params(two.first, "drain");
  const answers: number[] = [];
  two.first.moves.before = async (step) => {
    if (step !== "send") return;
    const path = `/v1/hosts/${second}`;
    for (const query of ["", "?force=true"]) {
      answers.push((await two.world.call("DELETE", path + query)).status);
    }
  };
  await activate();
  expect(answers).toEqual([409, 204]);
  expect(runningOn()).toEqual([two.first]);
  expect(await two.sandbox(id)).toMatchObject({ status: "running", host_id: await hostId(two.first) });
});

for (const gone of ["status = 'offline'", "removed_at = now()"]) {
  test(`a VM does not move to a host of which it is said meanwhile: ${gone}`, async () => {
    await params(two.first, "drain");
    two.second.moves.after = async (step) => {
      if (step !== "whole") return;
      await sql`update hosts set ${sql.raw(gone)} where name = 'second'`.execute(two.world.db);
    };
    await activate();
    expect(await two.sandbox(id)).toMatchObject({ status: "running", host_id: await hostId(two.first) });
    expect(runningOn()).toEqual([two.first]);
    expect(two.second.vms.has(id)).toBe(false);
  });
}
