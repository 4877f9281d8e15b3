// A thousand hosts with a hundred machines each, on a PostgreSQL of their own: what control needs to keep an eye on them. The hosts are
// simulated behind the client that control calls real ones with, so what is measured is control and its database.

import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { findSize } from "@skerry/contract/sizes";
import { heartbeat } from "../packages/control/src/hosts/heartbeat.ts";
import { hostHealthMonitor } from "../packages/control/src/hosts/host-health-monitor.ts";
import type { Context } from "../packages/control/src/context.ts";
import { reserve } from "../packages/control/src/capacity/reservation.ts";
import { bootstrap } from "../packages/control/src/organizations/tokens.ts";
import { openDatabase } from "../packages/control/src/db/database.ts";
import { migrate } from "../packages/control/src/db/migrations.ts";
import { simulatedContext } from "../packages/control/tests/support/simulated-context.ts";
import {
  fillWithMachines,
  silence,
  SimulatedHosts,
} from "../packages/control/tests/support/simulated-hosts.ts";
import { Postgres } from "../tests/support/postgres.ts";
import type { Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { range, Series } from "./series.ts";

const HOSTS = 1_000;
const MACHINES = 100;
const PERIOD_MS = 10_000;
const never = new AbortController().signal;

export async function measureHosts({ scale }: Pick<Bench, "scale">): Promise<Measure[]> {
  await using postgres = await Postgres.start();
  const db = openDatabase(postgres.url, () => undefined);
  try {
    await migrate(db);
    const { organization_id: orgId } = await bootstrap(db, "bench");
    const hosts = new SimulatedHosts(HOSTS);
    await hosts.join(db);
    await fillWithMachines(db, MACHINES);
    const context = simulatedContext(db, hosts);
    return [
      ...(await measureHeartbeats(context, scale.hosts.rounds)),
      await measurePlacement(context, orgId, scale.hosts.placements),
      ...(await measureMonitor(context, hosts, scale.hosts.rounds)),
    ];
  } finally {
    await db.destroy();
  }
}

/** A period with everything that belongs to it, the pause after the round too. */
async function measureHeartbeats(context: Context, rounds: number): Promise<Measure[]> {
  const cpu = new Series({
    what: `CPU of control for ${HOSTS} heartbeats in ${PERIOD_MS / 1_000} s, of one core`,
    unit: "%",
    bar: "median ≤ 10",
  });
  const service = heartbeat(context, { hostSocket: "/nonexistent", everyMs: PERIOD_MS, graceMs: 0 });
  for (const _ of range(rounds)) {
    const [startedMs, before] = [performance.now(), process.cpuUsage()];
    const { changed } = await service.activate(never);
    const restMs = PERIOD_MS - (performance.now() - startedMs);
    if (restMs > 0) await sleep(restMs);
    const { user, system } = process.cpuUsage(before);
    if (changed === HOSTS && restMs > 0) cpu.add(((user + system) / 1_000 / PERIOD_MS) * 100);
    else cpu.fail(`${changed} of ${HOSTS} hosts were heard within ${Math.round(PERIOD_MS - restMs)} ms`);
  }
  return [cpu.measure];
}

async function measurePlacement(context: Context, orgId: string, placements: number): Promise<Measure> {
  const size = findSize("shared-cpu-1x");
  if (size === undefined) throw new Error("there is no such size");
  const series = new Series({
    what: `room found and taken among ${HOSTS} hosts`,
    unit: "ms",
    bar: "median ≤ 5",
  });
  for (const _ of range(placements)) {
    await series.time(() =>
      reserve(
        context,
        { orgId, template: "base", size, quotas: () => ({ sandboxes: 1 }) },
        async () => undefined,
      ),
    );
  }
  return series.measure;
}

async function measureMonitor(context: Context, hosts: SimulatedHosts, rounds: number): Promise<Measure[]> {
  const idle = new Series({
    what: `a look at ${HOSTS} hosts with ${HOSTS * MACHINES} machines, all well`,
    unit: "ms",
    bar: "≤ 1,000",
  });
  const dead = new Series({
    what: `… one of them dead: it and its ${MACHINES} machines marked`,
    unit: "ms",
    bar: "≤ 1,000",
  });
  const monitor = hostHealthMonitor(context, PERIOD_MS);
  for (const turn of range(rounds * 5)) {
    await idle.time(() => monitor.activate(never));
    const id = hosts.all[turn]?.id ?? "";
    await silence(context.db, id);
    const report = await dead.time(() => monitor.activate(never));
    if (report?.changed !== MACHINES + 1) dead.fail(`${report?.changed} rows were marked`);
  }
  return [idle.measure, dead.measure];
}
