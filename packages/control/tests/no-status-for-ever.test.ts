// Every status that is on the way to another one ends, however its work was left: the replica that was at it is dead, and so are, one after the other, the
// guest's QEMU, what the host had, and the host. And a destruction wins in each of them.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { machineStatuses, type MachineStatus } from "@skerry/contract/machines/machine-status";
import { sandboxStatuses, type SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import { snapshotTransitions, type SnapshotStatus } from "@skerry/contract/snapshots/snapshot-status";
import { restartQueue } from "../src/machines/restart-queue.ts";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { TRIES_MAX } from "../src/vms/postpone.ts";
import type { FakeHost } from "./support/fake-host.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";

let two: TwoHosts;
let host: FakeHost;
beforeEach(async () => {
  two = await TwoHosts.open();
  host = two.second;
  await two.onlySecond();
});
afterEach(() => two[Symbol.asyncDispose]());

/** In these something may stay for as long as it likes. */
const atRest = {
  sandboxes: ["running", "paused", "failed", "destroyed"],
  machines: ["running", "stopped", "failed", "destroyed"],
  snapshots: ["ready", "failed", "deleted"],
} as const;

type Table = keyof typeof atRest;
type OnTheWay<Status, T extends Table> = Exclude<Status, (typeof atRest)[T][number]>;

/** Brings something into the status, as the replica has left it that died then. Resolves with its id. */
type Leave = () => Promise<string>;

async function set(table: Table, id: string, values: string): Promise<void> {
  await sql`update ${sql.table(table)} set ${sql.raw(values)} where id = ${id}`.execute(two.world.db);
}

const DEAD = "claimed_until = now() - interval '1 ms', retry_at = now() - interval '1 ms'";
const post = async (path: string): Promise<void> => void (await two.world.call("POST", `/v1/${path}`));

function sandboxLeft(status: SandboxStatus, mode: "persistent" | "ephemeral" = "persistent"): Leave {
  return async () => {
    const { id } = await two.world.createSandbox({ mode });
    if (status === "resuming") await post(`sandboxes/${id}/pause`);
    await set("sandboxes", id, `status = '${status}', ${DEAD}`);
    return id;
  };
}

function machineLeft(status: MachineStatus): Leave {
  return async () => {
    const { id } = await two.world.createMachine({ command: "exec count" });
    await set("machines", id, `status = '${status}', ${DEAD}`);
    return id;
  };
}

function snapshotLeft(status: SnapshotStatus): Leave {
  return async () => {
    const { id } = await two.world.createSandbox({});
    const taken = await two.world.call<{ id: string }>("POST", `/v1/sandboxes/${id}/snapshots`);
    await set("snapshots", taken.body.id, `status = '${status}', ${DEAD}`);
    return taken.body.id;
  };
}

const sandboxes: Readonly<Record<OnTheWay<SandboxStatus, "sandboxes">, Leave>> = {
  creating: sandboxLeft("creating"),
  pausing: sandboxLeft("pausing"),
  resuming: sandboxLeft("resuming"),
  unreachable: sandboxLeft("unreachable"),
  destroying: sandboxLeft("destroying"),
};
const machines: Readonly<Record<OnTheWay<MachineStatus, "machines">, Leave>> = {
  creating: machineLeft("creating"),
  starting: machineLeft("starting"),
  stopping: machineLeft("stopping"),
  destroying: machineLeft("destroying"),
};
const snapshots: Readonly<Record<OnTheWay<SnapshotStatus, "snapshots">, Leave>> = {
  creating: snapshotLeft("creating"),
  deleting: snapshotLeft("deleting"),
};

test("every status that is no rest is tried below", () => {
  const tried = { sandboxes, machines, snapshots };
  const all = {
    sandboxes: sandboxStatuses,
    machines: machineStatuses,
    snapshots: Object.keys(snapshotTransitions),
  };
  for (const table of Object.keys(all) as Table[]) {
    const rest: readonly string[] = atRest[table];
    expect(Object.keys(tried[table]).sort()).toEqual(all[table].filter((one) => !rest.includes(one)).sort());
  }
});

/** What else has happened. */
const losses: Readonly<Record<string, (id: string) => Promise<void>>> = {
  control: async () => undefined,
  "control and its QEMU": async (id) => host.end(id, "the microVM's QEMU process was killed or crashed"),
  "control and all that its host had": async (id) => {
    host.vms.delete(id);
    host.disks.delete(id);
    host.snapshots.kept.delete(id);
  },
  "control and its host, which comes back": async () => {
    await host.stop();
    await two.silence();
    await two.judge();
    await host.start();
    await two.ask();
  },
  "control, and its host fails at whatever it is asked": async () => {
    const broken = new SkerryError("internal", "The host failed.");
    for (const call of ["start", "stop", "egress"] as const) host.failures.set(call, broken);
    for (const step of ["pause", "resume"] as const) host.pauses.failures.set(step, broken);
  },
};

async function statusOf(table: Table, id: string): Promise<string> {
  const { rows } = await sql<{
    status: string;
  }>`select status from ${sql.table(table)} where id = ${id}`.execute(two.world.db);
  return rows[0]?.status ?? "none";
}

/** As many turns of the services as anything is tried at most. */
async function settle(table: Table, id: string): Promise<string> {
  for (let turn = 0; turn <= TRIES_MAX; turn += 1) {
    const status = await statusOf(table, id);
    if ((atRest[table] as readonly string[]).includes(status)) return status;
    await set(table, id, DEAD);
    await two.cleanUp();
    await sandboxReaper(two.world.context, 1_000, 30).activate(never);
    await restartQueue(two.world.context).activate(never);
  }
  return statusOf(table, id);
}

const ways = Object.entries({ sandboxes, machines, snapshots }).flatMap(([table, all]) =>
  Object.entries(all).map(([status, leave]) => ({ table: table as Table, status, leave })),
);

for (const { table, status, leave } of ways) {
  test.each(Object.entries(losses))(
    `one of the ${table} that was ${status} without %s comes to rest`,
    async (_what, lose) => {
      const id = await leave();
      await lose(id);
      const ended = await settle(table, id);
      // A machine that its host cannot stop may still run; what is asked of it then is asked again.
      const isStuckAtHost = status === "stopping" && host.failures.has("stop");
      if (!isStuckAtHost) return expect(atRest[table]).toContain(ended);
      expect(ended).toBe("stopping");
      host.failures.clear();
      expect(atRest[table]).toContain(await settle(table, id));
    },
  );

  if (table !== "snapshots")
    test.each(Object.entries(losses))(
      `one of the ${table} that was ${status} without %s is destroyed at once`,
      async (_what, lose) => {
        const id = await leave();
        await lose(id);
        expect((await two.world.call("DELETE", `/v1/${table}/${id}`)).status).toBe(204);
        expect([await settle(table, id), host.vms.has(id)]).toEqual(["destroyed", false]);
      },
    );
}

test("a sandbox whose time ends while its host cannot pause it is destroyed", async () => {
  const id = await sandboxLeft("pausing", "ephemeral")();
  await losses["control, and its host fails at whatever it is asked"]?.(id);
  await set("sandboxes", id, "expires_at = now() - interval '1 s'");
  expect([await settle("sandboxes", id), host.vms.has(id)]).toEqual(["destroyed", false]);
});
