// Sandboxes as E2B's clients are told of them.

import { bareId } from "@skerry/contract/ids";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import type { SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import type { Context } from "../context.ts";
import type { PortOptions } from "../db/tables/sandbox-tables.ts";
import { networkOf } from "./network.ts";
import { readSize } from "../values/sizes.ts";
import { CLIENT_ID } from "./sandbox-ids.ts";

/** Which functions of the program in a sandbox the clients use: those of its version. */
export const ENVD_VERSION = "0.6.4";

export interface Connection {
  readonly templateID: string;
  readonly sandboxID: string;
  readonly alias: string;
  readonly clientID: string;
  readonly envdVersion: string;
  readonly envdAccessToken: string;
  /** Null: its ports need none. */
  readonly trafficAccessToken: string | null;
  readonly domain: string | null;
}

/** What a client needs to call into a sandbox. */
export function connectionTo(
  { sandboxDomain }: Context,
  { id, template }: Pick<Sandbox, "id" | "template">,
  tokens: Pick<Connection, "envdAccessToken" | "trafficAccessToken">,
): Connection {
  return {
    ...{ templateID: template, sandboxID: bareId(id), alias: template, clientID: CLIENT_ID },
    ...{
      envdVersion: ENVD_VERSION,
      ...tokens,
      domain: sandboxDomain ?? null,
    },
  };
}

export const e2bStates = {
  running: ["creating", "running", "resuming", "unreachable"],
  paused: ["pausing", "paused"],
} as const satisfies Readonly<Record<string, readonly SandboxStatus[]>>;
export type E2bState = keyof typeof e2bStates;

const MIB_PER_GIB = 1024;

/** As lists have it. */
export function listedSandbox(sandbox: Sandbox, diskGib: number) {
  const { id, template, metadata, size, status } = sandbox;
  const { vcpus, memory_mib } = readSize(size);
  const isPaused = (e2bStates.paused as readonly SandboxStatus[]).includes(status);
  return {
    ...{ templateID: template, sandboxID: bareId(id), alias: template, clientID: CLIENT_ID },
    ...{ startedAt: sandbox.started_at ?? sandbox.created_at, endAt: sandbox.expires_at },
    ...{ cpuCount: vcpus, memoryMB: memory_mib, diskSizeMB: diskGib * MIB_PER_GIB },
    ...{ metadata, state: (isPaused ? "paused" : "running") satisfies E2bState, envdVersion: ENVD_VERSION },
    volumeMounts: [],
  };
}

interface SandboxFacts {
  readonly diskGib: number;
  readonly isPublic: boolean;
  readonly ports: PortOptions;
}

/** As a read of one has it. */
export function sandboxDetail(
  sandbox: Sandbox,
  { diskGib, isPublic, ports }: SandboxFacts,
  connection: Connection,
) {
  const { egress, mode, auto_resume } = sandbox;
  return {
    ...listedSandbox(sandbox, diskGib),
    ...{ envdAccessToken: connection.envdAccessToken, domain: connection.domain },
    allowInternetAccess: egress.mode === "allow_all",
    network: {
      ...networkOf(egress),
      allowPublicTraffic: isPublic,
      ...(ports.https !== undefined && { httpsPorts: ports.https }),
      ...(ports.host !== undefined && { maskRequestHost: ports.host }),
    },
    lifecycle: { autoResume: auto_resume, onTimeout: mode === "persistent" ? "pause" : "kill" },
  };
}
