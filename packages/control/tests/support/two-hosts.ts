// A world with a second host, whose silence passes in no time.

import { sql } from "kysely";
import type { HostStatus, HostDesired } from "@skerry/contract/hosts/host-status";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { heartbeat } from "../../src/hosts/heartbeat.ts";
import { hostHealthMonitor } from "../../src/hosts/host-health-monitor.ts";
import type { Report } from "../../src/background/background-service.ts";
import { vmReconciler } from "../../src/platform/vm-reconciler.ts";
import { FakeHost } from "./fake-host.ts";
import { World } from "./world.ts";

export const never = new AbortController().signal;

export interface HostFacts {
  readonly name: string;
  readonly status: HostStatus;
  readonly desired: HostDesired;
  readonly cpus: number;
}

export class TwoHosts implements AsyncDisposable {
  readonly world: World;
  readonly first: FakeHost;
  readonly second = new FakeHost();

  private constructor(world: World) {
    this.world = world;
    this.first = world.host;
    this.second.name = "second";
  }

  static async open(): Promise<TwoHosts> {
    const two = new TwoHosts(await World.open());
    await two.second.start();
    await two.ask(two.second.socketPath);
    return two;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.second[Symbol.asyncDispose]();
    await this.world[Symbol.asyncDispose]();
  }

  /** One round over all hosts. */
  ask(hostSocket = this.first.socketPath): Promise<Report> {
    return heartbeat(this.world.context, { hostSocket, everyMs: 1_000, graceMs: 0 }).activate(never);
  }

  judge(): Promise<Report> {
    return hostHealthMonitor(this.world.context, 1_000).activate(never);
  }

  cleanUp(): Promise<Report> {
    return vmReconciler(this.world.context, 1_000).activate(never);
  }

  /** The second host dies for long enough, and is heard of again. */
  async loseSecond(): Promise<void> {
    await this.second.stop();
    await this.silence();
    await this.judge();
    await this.second.start();
    await this.ask();
  }

  /** Whatever is placed from now on, the second host is the only one for it. */
  async onlySecond(): Promise<void> {
    await sql`update hosts set desired = 'drained', status = 'draining' where name = 'fake'`.execute(
      this.world.db,
    );
  }

  async host(name: string): Promise<HostFacts> {
    const row = await this.world.db
      .selectFrom("hosts")
      .select(["name", "status", "desired", "cpus"])
      .where("name", "=", name)
      .executeTakeFirst();
    if (row === undefined) throw new Error(`there is no host ${name}`);
    return row;
  }

  /** As if all that is known of the hosts were so much older. */
  async pass(seconds: number): Promise<void> {
    const back = sql.raw(`- interval '${seconds} s'`);
    await sql`
      update hosts set last_heartbeat = last_heartbeat ${back}, silent_since = silent_since ${back},
                       silent_until = silent_until ${back}`.execute(this.world.db);
  }

  /** All hosts are asked for 30 s; those that do not answer are silent for that long. */
  async silence(): Promise<void> {
    for (let round = 0; round < 3; round += 1) {
      await this.pass(10);
      await this.ask();
    }
    await this.pass(1);
  }

  async sandbox(id: string): Promise<Sandbox> {
    return (await this.world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body;
  }

  async sandboxOn(fake: FakeHost): Promise<string> {
    for (let tries = 0; tries < 20; tries += 1) {
      const { id } = await this.world.createSandbox();
      if (fake.vms.has(id)) return id;
    }
    throw new Error("no sandbox was placed there");
  }
}
