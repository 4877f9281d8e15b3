// Things that a person should look at. Pure.

import type { BackgroundService, Build, Host, Machine } from "@skerry/sdk";
import { shortId } from "../ui/text.ts";
import { serviceCondition, type ServiceCondition } from "../why/service-condition.ts";
import type { Need } from "./need.ts";
import { backupNeed, diskNeeds, templateNeeds } from "./platform-needs.ts";

const DAY_MS = 24 * 60 * 60_000;

export interface Found {
  readonly hosts: readonly Host[];
  /** Those that have failed. */
  readonly machines: readonly Machine[];
  /** Those that their policy starts again and again. */
  readonly looping: readonly Machine[];
  /** Those that run and whose health check fails. */
  readonly unhealthy: readonly Machine[];
  /** The newest, whatever became of them. */
  readonly builds: readonly Build[];
  readonly services: readonly BackgroundService[];
  /** Null: there was none, or it is not for this session to know. */
  readonly lastBackup: string | null;
}

/** The thing that holds up most comes first. */
export function needsOf(found: Found, nowMs: number): readonly Need[] {
  const { hosts, machines, looping, unhealthy, builds, services, lastBackup } = found;
  const loops = new Set(looping.map(({ id }) => id));
  return [
    ...hosts.flatMap(needOfHost),
    ...diskNeeds(hosts),
    ...looping.map((machine) => needOfMachine(machine, "it ends again and again")),
    ...machines.filter(({ id }) => !loops.has(id)).map((machine) => needOfMachine(machine, "it has ended")),
    ...unhealthy.filter(({ id }) => !loops.has(id)).map(needOfUnhealthy),
    ...templateNeeds(hosts),
    ...failedBuilds(builds, nowMs).map(needOfBuild),
    ...services.flatMap((service) => needOfService(service, nowMs)),
    ...backupNeed(lastBackup, nowMs),
  ];
}

function needOfMachine(machine: Machine, otherwise: string): Need {
  const { id, name, status, reason, restarts } = machine;
  const often = restarts === 0 ? "" : `, after ${restarts === 1 ? "1 restart" : `${restarts} restarts`}`;
  return {
    ...{ kind: "machine", of: machine, name: name ?? shortId(id), status },
    ...{ text: `${reason ?? otherwise}${often}`, to: `/machines/${id}` },
  };
}

function needOfUnhealthy(machine: Machine): Need {
  const { id, name, health } = machine;
  const text = `its health check fails${health?.reason == null ? "" : `: ${health.reason}`}`;
  return {
    ...{ kind: "machine", of: machine, name: name ?? shortId(id), status: "failing" },
    ...{ text, to: `/machines/${id}` },
  };
}

/** The newest build of each name and tag, where it failed within a day. */
function failedBuilds(builds: readonly Build[], nowMs: number): readonly Build[] {
  const settled = new Set<string>();
  return builds.filter((build) => {
    const { name, tag, pushed, status, finished_at: at } = build;
    const key = `${name}:${tag} ${pushed?.image ?? ""}`;
    if ((status !== "failed" && status !== "ready") || settled.has(key)) return false;
    settled.add(key);
    return status === "failed" && at !== null && nowMs - Date.parse(at) < DAY_MS;
  });
}

function needOfBuild(build: Build): Need {
  const { id, name, tag, error } = build;
  return {
    ...{ kind: "build", of: build, name: `${name}:${tag}`, status: "failed" },
    ...{ text: error?.message ?? "it does not say why", to: `/builds/${id}` },
  };
}

/** One that is in maintenance is as its operator wants it. */
function needOfHost(host: Host): readonly Need[] {
  const { name, status, waits_for: waits } = host;
  const need = (text: string): readonly Need[] => [
    { kind: "host", of: host, name, status, text, to: `/hosts?status=${status}` },
  ];
  if (status === "offline") return need(waits ?? "not heard of");
  return waits === null || status === "maintenance" ? [] : need(waits);
}

const troubles: Readonly<Partial<Record<ServiceCondition, string>>> = {
  failed: "broke off in its last run",
  late: "is past its time, and no replica has begun it",
  incomplete: "could not do all that it had to",
};

function needOfService(service: BackgroundService, nowMs: number): readonly Need[] {
  const condition = serviceCondition(service, nowMs);
  const text = troubles[condition];
  if (text === undefined) return [];
  const { name } = service;
  return [{ kind: "background_service", of: service, name, status: condition, text, to: "/services" }];
}
