// What ends machines and brings them back, one activation at a time.

import { sql } from "kysely";
import type { Machine } from "@skerry/contract/machines/machine";
import { restartQueue } from "../../src/machines/restart-queue.ts";
import type { Report } from "../../src/background/background-service.ts";
import { vmReconciler } from "../../src/platform/vm-reconciler.ts";
import type { World } from "./world.ts";

const never = new AbortController().signal;

export class MachineUpkeep {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  cleanUp(): Promise<Report> {
    return vmReconciler(this.#world.context, 1_000).activate(never);
  }

  startWaiting(): Promise<Report> {
    return restartQueue(this.#world.context, 30_000).activate(never);
  }

  /** The time of every machine in the queue has come. */
  allDue(): Promise<void> {
    return this.due("0 s");
  }

  /** The time of every machine in the queue comes then. */
  async due(later: string): Promise<void> {
    await sql`update restarts set due_at = now() + ${later}::interval`.execute(this.#world.db);
  }

  async get(id: string): Promise<Machine> {
    return (await this.#world.call<Machine>("GET", `/v1/machines/${id}`)).body;
  }

  async set(id: string, values: string): Promise<void> {
    await sql`update machines set ${sql.raw(values)} where id = ${id}`.execute(this.#world.db);
  }
}
