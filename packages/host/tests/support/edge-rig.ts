// A real HAProxy for a file of tests, with servers of this machine in the place of guests.

import { mkdtemp, rm } from "node:fs/promises";
import { request, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { afterAll, afterEach, beforeEach } from "vitest";
import type { EdgeInstance } from "@skerry/contract/host-api/edge";
import { Edge, type EdgeOptions } from "../../src/edge/edge.ts";
import { endInstances, freePort } from "./edge-instances.ts";
import { testEdgeUid } from "./network.ts";

export const folder = await mkdtemp(join(tmpdir(), "skerry-unit-edge-"));
export const listen = `127.0.0.1:${await freePort()}`;
/** Names of those that have ended, and of those whose checks fail. */
export const [gone, failing] = [new Set<string>(), new Set<string>()];
export const published: string[] = [];
export let edge: Edge;
let stop: AbortController;
let watching: Promise<void>;
/** Version of the last document. */
export let version = 0;

export const options: EdgeOptions = {
  ...{ folder, listen, perAddress: 400, uid: testEdgeUid, log: pino({ level: "silent" }) },
  cgroup: () => Promise.resolve(undefined),
  vms: {
    addressOf: ({ vm }) => (gone.has(vm) ? undefined : "127.0.0.1"),
    async publish({ vm }, ports) {
      published.push(`${vm} ${ports.join()}`);
    },
    isFailing: ({ vm }) => failing.has(vm),
  },
};

export async function begin(): Promise<void> {
  edge = await Edge.open(options);
  stop = new AbortController();
  watching = edge.watch(stop.signal);
}

export async function leave(): Promise<void> {
  stop.abort();
  await watching;
}

beforeEach(begin);
afterEach(async () => {
  await leave();
  gone.clear();
  failing.clear();
});
afterAll(async () => {
  await edge.end();
  endInstances();
  await rm(folder, { recursive: true, force: true });
});

export function nextVersion(): number {
  return (version += 1);
}

export const serve = (
  backends: Readonly<Record<string, readonly EdgeInstance[]>>,
  routes: Readonly<Record<string, string>>,
) =>
  edge.apply({
    version: nextVersion(),
    backends: Object.entries(backends).map(([id, instances]) => ({
      id,
      protocol: "http",
      instances: [...instances],
    })),
    routes: Object.entries(routes).map(([key, backend]) => {
      const slash = key.indexOf("/");
      return { host: key.slice(0, slash), path_prefix: key.slice(slash), backend };
    }),
  });

export interface Seen {
  readonly status: number;
  readonly vm?: string;
  readonly code?: string;
  readonly request_id?: string;
  readonly url?: string;
  readonly at_once?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function ask(
  host: string,
  path = "/",
  headers: Readonly<Record<string, string>> = {},
): Promise<Seen> {
  const [name, port] = listen.split(":");
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const call = request({ host: name, port, path, headers: { ...headers, host }, agent: false }, resolve);
    call.once("error", reject);
    call.end();
  });
  return { status: answer.statusCode ?? 0, ...(JSON.parse(await text(answer)) as object) };
}

export const servedBy = async (host: string, path?: string) => (await ask(host, path)).vm;
