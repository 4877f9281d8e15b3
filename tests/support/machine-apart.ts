// Another machine, as far as the network goes: a namespace with one link to this one, which can be cut.

import { run } from "./run.ts";

/** Of the link's two ends. Test files that run at the same time have networks of their own. */
const NETWORK = `10.253.${process.env["VITEST_POOL_ID"] ?? "0"}`;
const HERE = `${NETWORK}.1`;
const THERE = `${NETWORK}.2`;

export class MachineApart implements AsyncDisposable {
  /** Where it reaches this machine. */
  readonly here = HERE;
  /** Its own address. */
  readonly there = THERE;
  readonly namespace = `skapart-${process.pid}`;
  readonly #link = `ska${process.pid}`;

  static async open(): Promise<MachineApart> {
    const machine = new MachineApart();
    try {
      await machine.#build();
      return machine;
    } catch (error) {
      await machine[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Nothing passes, and nobody is told: packets are lost. */
  async cut(): Promise<void> {
    await run("ip", "link", "set", this.#link, "down");
  }

  async mend(): Promise<void> {
    await run("ip", "link", "set", this.#link, "up");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run("ip", "link", "del", this.#link).catch(() => undefined);
    await run("ip", "netns", "del", this.namespace).catch(() => undefined);
  }

  async #build(): Promise<void> {
    const peer = ["type", "veth", "peer", "name", "uplink", "netns", this.namespace];
    await run("ip", "netns", "add", this.namespace);
    await run("ip", "link", "add", this.#link, ...peer);
    await run("ip", "addr", "add", `${HERE}/30`, "dev", this.#link);
    await this.mend();
    const inside = (...args: readonly string[]) => run("ip", "-n", this.namespace, ...args);
    await inside("addr", "add", `${THERE}/30`, "dev", "uplink");
    for (const device of ["lo", "uplink"]) await inside("link", "set", device, "up");
    await inside("route", "add", "default", "via", HERE);
  }
}
