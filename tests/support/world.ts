// "The internet" of the egress tests: a network namespace of their own behind this machine, in which whole networks answer. TCP
// ports greet with the address that was reached, a UDP port and ICMP echo, a name server knows one name. Everything that arrives is
// told to the test, so that it can also see what did not.

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "./run.ts";

/** Networks in which every address answers. Documentation networks (RFC 5737) stand for public ones. A quarter of the first: a test machine may
 *  have its package mirrors in such a network too, and other files install packages while a world is open. */
export const publicNetworks = ["203.0.113.0/26", "198.51.100.0/24"] as const;
export const privateNetworks = ["10.77.0.0/24", "172.20.7.0/24"] as const;
export const tcpPorts = [80, 443, 8080] as const;
/** Takes what comes and answers nothing. */
export const sinkPort = 9001;
export const udpPort = 9000;
/** Of the name server, in the first public network. */
export const dnsServer = "203.0.113.53";
/** The machine's own address on the link to the world. */
export const machineAddress = "10.255.77.1";
const WORLD_ADDRESS = "10.255.77.2";
/** There is one at a time, because it holds fixed networks of this machine; whoever comes second waits for as long as a test file takes. */
export const NETNS = "skworld";
/** Of its link to this machine; the id of the process that holds it follows. */
const LINK = "skw";
const usualServers = [
  ...["python3", "-u", join(import.meta.dirname, "world-servers.py")],
  ...[...tcpPorts, sinkPort, udpPort].map(String),
];
const WAIT_MS = 8 * 60_000;
const LOOK_MS = 500;

export interface Arrival {
  readonly protocol: "tcp" | "udp" | "dns";
  readonly from: string;
  readonly to: string;
  readonly port: number;
  readonly text: string;
}

export class World implements AsyncDisposable {
  readonly arrivals: Arrival[] = [];
  readonly #link = `${LINK}${process.pid}`;
  #servers: ChildProcess | undefined;

  /** `servers`: a program with its arguments that serves in it, other than the usual ones. */
  static async open(servers: readonly string[] = usualServers): Promise<World> {
    await takeNamespace();
    const world = new World();
    try {
      await world.#build();
      await world.#serve(servers);
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What has come to this address so far. */
  at(address: string): Arrival[] {
    return this.arrivals.filter((arrival) => arrival.to === address);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const servers = this.#servers;
    if (servers?.exitCode === null && servers.signalCode === null) {
      const ended = new Promise((resolve) => servers.once("close", resolve));
      servers.kill("SIGKILL");
      await ended;
    }
    // The link's other end and the routes over it go with it. The namespace comes last: who has it has the networks.
    await run("ip", "link", "del", this.#link).catch(() => undefined);
    await run("ip", "netns", "del", NETNS).catch(() => undefined);
  }

  async #build(): Promise<void> {
    const inside = (...args: readonly string[]) => run("ip", "-n", NETNS, ...args);
    await run("ip", "link", "add", this.#link, "type", "veth", "peer", "name", "machine", "netns", NETNS);
    await run("ip", "addr", "add", `${machineAddress}/30`, "dev", this.#link);
    await run("ip", "link", "set", this.#link, "up");
    await inside("addr", "add", `${WORLD_ADDRESS}/30`, "dev", "machine");
    for (const device of ["lo", "machine"]) await inside("link", "set", device, "up");
    await inside("route", "add", "default", "via", machineAddress);
    for (const network of [...publicNetworks, ...privateNetworks]) {
      await inside("route", "add", "local", network, "dev", "lo");
      await run("ip", "route", "add", network, "via", WORLD_ADDRESS, "dev", this.#link);
    }
  }

  async #serve(program: readonly string[]): Promise<void> {
    this.#servers = spawn("ip", ["netns", "exec", NETNS, ...program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { stdout } = this.#servers;
    if (stdout === null) throw new Error("the servers have no output");
    await new Promise<void>((resolve, reject) => {
      this.#servers?.once("exit", (code) => reject(new Error(`the servers ended with ${code}`)));
      createInterface({ input: stdout }).on("line", (line) => {
        if (line === "ready") resolve();
        else this.arrivals.push(JSON.parse(line) as Arrival);
      });
    });
  }
}

/** Only one can make it. What one has left whose process is gone is removed; it would keep all others waiting. */
async function takeNamespace(): Promise<void> {
  for (const endMs = performance.now() + WAIT_MS; ; await sleep(LOOK_MS)) {
    try {
      return void (await run("ip", "netns", "add", NETNS));
    } catch (error) {
      if (performance.now() > endMs || !String(error).includes("File exists")) throw error;
      await removeAbandoned();
    }
  }
}

/** Of two that find it, one alone can remove the link, and the rest is for that one to do. */
async function removeAbandoned(): Promise<void> {
  const link = (await readdir("/sys/class/net")).find((name) => name.startsWith(LINK));
  if (link === undefined || existsSync(`/proc/${link.slice(LINK.length)}`)) return;
  const isOurs = await run("ip", "link", "del", link).then(
    () => true,
    () => false,
  );
  if (!isOurs) return;
  const servers = (await run("ip", "netns", "pids", NETNS)).split("\n").filter((line) => line !== "");
  if (servers.length > 0) await run("kill", "-KILL", ...servers).catch(() => undefined);
  await run("ip", "netns", "del", NETNS);
}
