// A thousand apps on simulated hosts: what control needs to look after them, and how long it lets others wait.

import { monitorEventLoopDelay } from "node:perf_hooks";
import { appDeployer } from "../packages/control/src/apps/app-deployer.ts";
import { openDatabase } from "../packages/control/src/db/database.ts";
import { migrate } from "../packages/control/src/db/migrations.ts";
import { bootstrap } from "../packages/control/src/organizations/tokens.ts";
import { simulatedContext } from "../packages/control/tests/support/simulated-context.ts";
import { fillWithApps, flipInstance } from "../packages/control/tests/support/simulated-apps.ts";
import { SimulatedHosts } from "../packages/control/tests/support/simulated-hosts.ts";
import { Postgres } from "../tests/support/postgres.ts";
import type { Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { range, Series } from "./series.ts";

const APPS = 1_000;
const HOSTS = 10;
const ROUTES = 10;
const never = new AbortController().signal;
const NS_PER_MS = 1_000_000;

export async function measureApps({ scale }: Pick<Bench, "scale">): Promise<Measure[]> {
  await using postgres = await Postgres.start();
  const db = openDatabase(postgres.url, () => undefined);
  try {
    await migrate(db);
    const { organization_id: orgId } = await bootstrap(db, "bench");
    const hosts = new SimulatedHosts(HOSTS);
    await hosts.join(db);
    await fillWithApps(db, orgId, { apps: APPS, routes: ROUTES });
    const context = simulatedContext(db, hosts);
    const turn = new Series({
      what: `a look at ${APPS} apps with ${APPS * ROUTES} routes, all well`,
      unit: "ms",
      bar: "–",
    });
    const late = new Series({
      what: "… control lets other work wait meanwhile, at most",
      unit: "ms",
      bar: "≤ 20",
    });
    const change = new Series({
      what: "… one of them scaled: all hosts have been told",
      unit: "ms",
      bar: "–",
    });
    const service = appDeployer(context, 10_000);
    await service.activate(never);
    for (const round of range(scale.hosts.rounds * 2)) {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      await turn.time(() => service.activate(never));
      await flipInstance(db, round);
      await change.time(() => service.activate(never));
      delay.disable();
      // The timer of the measure itself is a millisecond.
      late.add(Math.max(0, delay.max / NS_PER_MS - 1));
    }
    return [turn.measure, late.measure, change.measure];
  } finally {
    await db.destroy();
  }
}
