// The name proxy as the host has it, run from its source.

import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { endNameProxy } from "../../src/app/open-name-proxy.ts";
import { NameProxy, type NameProxyOptions } from "../../src/network/name-proxy.ts";
import { testNumber, testRange } from "./network.ts";

export const NAME_PROXY_PORT = 10_054;
/** Of nothing else on the machine. */
export const NAME_PROXY_UID = 1_890_000_000 + testNumber;

const SOCKET = join(tmpdir(), `skerry-unit-names-${process.pid}.sock`);

/** Starts nothing before it is asked. */
export function testNames(options: Partial<NameProxyOptions> = {}): {
  readonly proxy: NameProxy;
  readonly port: number;
} {
  const proxy = new NameProxy({
    ...{ address: testRange().resolver, port: NAME_PROXY_PORT, uid: NAME_PROXY_UID, servers: [] },
    ...{ socket: SOCKET, endSilent: () => endNameProxy(NAME_PROXY_UID) },
    program: [join(import.meta.dirname, "../../src/main.ts"), "names"],
    log: pino({ level: "silent" }),
    ...options,
  });
  return { proxy, port: NAME_PROXY_PORT };
}

/** Leaves nothing of it. */
export async function endTestNames(): Promise<void> {
  await endNameProxy(NAME_PROXY_UID);
  await rm(SOCKET, { force: true });
}

/** Of a host that has this name proxy. */
export const testRootNameProxy = {
  port: NAME_PROXY_PORT,
  uid: NAME_PROXY_UID,
  neverCidrs: ["10.0.0.0/8"],
  serverPorts: [53, 5_353],
};
