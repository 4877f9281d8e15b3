// What a scrape answers. The process' own figures are always there; those of the database are read at most once a second, however many
// scrape, and left out where the database does not answer: a scrape must say so and not hang.

import { setTimeout as sleep } from "node:timers/promises";
import { cachedByHost } from "../builds/cache-usage.ts";
import { hostStatuses } from "@skerry/contract/hosts/host-status";
import { textOf, type Format } from "../metrics/families.ts";
import { DatabaseMetrics } from "../metrics/database-metrics.ts";
import {
  countedTemplateStatuses,
  countedVmStatuses,
  hostFigures,
  type HostFigures,
  machineTroubles,
  type OrganizationLoad,
  organizationLoads,
  storedLayers,
  type TemplateCount,
  templateCounts,
  type VmLoad,
  vmLoads,
  waitingWork,
} from "./count-store.ts";
import { lastBackupAt } from "../hosts/command-generation.ts";
import { clockSteps } from "./clock-store.ts";
import { waitingQueries } from "../db/database.ts";
import type { Context } from "../context.ts";
import { countByStatus } from "./status.ts";

const FRESH_MS = 1_000;
const DATABASE_DEADLINE_MS = 2_000;
const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export class MetricsCollector {
  readonly #context: Context;
  readonly #database = new DatabaseMetrics();
  #reading: Promise<void> | undefined;
  #freshUntilMs = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  async text(format: Format): Promise<string> {
    if (performance.now() >= this.#freshUntilMs) await this.#refresh();
    const { metrics, db } = this.#context;
    metrics.measureProcess();
    this.#database.queueDepth.set(waitingQueries(db), "database");
    return [...textOf([...metrics.families(), ...this.#database.families()], format)].join("");
  }

  /** One reading at a time: a database that hangs is not asked again before it has answered. */
  async #refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    const late = new AbortController();
    const timeout = sleep(DATABASE_DEADLINE_MS, "late" as const, { signal: late.signal });
    // The loser must not end the process.
    timeout.catch(() => undefined);
    if ((await Promise.race([this.#reading, timeout])) === "late") this.#forget();
    late.abort();
  }

  async #read(): Promise<void> {
    const { db, log } = this.#context;
    try {
      const loads = await vmLoads(db);
      const hosts = await hostFigures(db);
      const waiting = await waitingWork(db);
      const cached = await cachedByHost(db);
      const stored = await storedLayers(db);
      const clock = await clockSteps(db);
      const troubles = await machineTroubles(db);
      const templates = await templateCounts(db);
      const backup = await lastBackupAt(db);
      const organizations = await this.#organizationLoads();
      this.#forget();
      this.#database.up.set(1);
      this.#showVms(loads);
      this.#showHosts(hosts, loads);
      this.#showOrganizations(organizations);
      this.#showTemplates(templates);
      this.#database.crashLoops.set(troubles.looping);
      this.#database.unhealthy.set(troubles.unhealthy);
      if (backup !== null) this.#database.lastBackup.set(backup.getTime() / 1_000);
      this.#database.clockSteps.set(clock.steps);
      this.#database.clockStep.set(clock.last_ms / 1_000);
      for (const { name, bytes } of cached) this.#database.cacheBytes.set(bytes, name);
      for (const status of ["storing", "ready", "deleting"] as const) {
        const found = stored.find((one) => one.status === status);
        this.#database.storedLayers.set(found?.layers ?? 0, status);
        this.#database.storedBytes.set(found?.bytes ?? 0, status);
      }
      for (const [queue, depth] of Object.entries(waiting)) this.#database.queueDepth.set(depth, queue);
    } catch (error) {
      this.#forget();
      log.debug({ err: error }, "a scrape got nothing from the database");
    }
    this.#freshUntilMs = performance.now() + FRESH_MS;
  }

  /** None unless the operator wants them: who they are is told to all who scrape. */
  async #organizationLoads(): Promise<OrganizationLoad[]> {
    const { db, limits } = this.#context;
    return limits.metricsOrganizations === 0 ? [] : organizationLoads(db, limits.metricsOrganizations);
  }

  #showOrganizations(loads: readonly OrganizationLoad[]): void {
    const { organizationVms, organizationCpus, organizationMemory, organizationDisk } = this.#database;
    for (const { organization, ...load } of loads) {
      organizationVms.set(load.sandboxes, organization, "sandbox");
      organizationVms.set(load.machines, organization, "machine");
      organizationCpus.set(load.vcpus, organization);
      organizationMemory.set(load.memory_mib * MIB, organization);
      organizationDisk.set(load.disk_gib * GIB, organization);
    }
  }

  /** Old figures would look like true ones. */
  #forget(): void {
    for (const family of this.#database.families()) family.clear();
    this.#database.up.set(0);
  }

  #showVms(loads: readonly VmLoad[]): void {
    const { vms, queueDepth } = this.#database;
    for (const [kind, statuses] of Object.entries(countedVmStatuses)) {
      for (const status of statuses) vms.set(0, kind, status);
    }
    for (const load of loads) vms.add(load.vms, load.kind, load.status);
    const destroying = loads.filter(({ status }) => status === "destroying");
    queueDepth.set(
      destroying.reduce((total, load) => total + load.vms, 0),
      "destroy",
    );
  }

  #showTemplates(counts: readonly TemplateCount[]): void {
    for (const [origin, statuses] of Object.entries(countedTemplateStatuses))
      for (const status of statuses) {
        const found = counts.find((one) => one.origin === origin && one.status === status);
        this.#database.templates.set(found?.templates ?? 0, origin, status);
      }
  }

  #showHosts(hosts: readonly HostFigures[], loads: readonly VmLoad[]): void {
    const database = this.#database;
    for (const [status, count] of Object.entries(countByStatus(hostStatuses, hosts))) {
      database.hosts.set(count, status);
    }
    for (const host of hosts) {
      const held = loads.filter((load) => load.host_id === host.id && load.on_host);
      const sum = (figure: "memory_mib" | "vcpus") => held.reduce((total, load) => total + load[figure], 0);
      database.hostHeartbeat.set(host.last_heartbeat.getTime() / 1_000, host.name);
      const { certificate_expires_at: expiry } = host;
      if (expiry !== null) database.hostCertificateExpiry.set(expiry.getTime() / 1_000, host.name);
      database.hostCpus.set(host.cpus, host.name);
      database.hostVmMemory.set(host.memory_mib * MIB, host.name);
      database.hostReservedMemory.set(sum("memory_mib") * MIB, host.name);
      database.hostReservedCpus.set(sum("vcpus"), host.name);
      this.#showUsage(host);
    }
  }

  #showUsage({ name, usage }: HostFigures): void {
    if (usage === null) return;
    const database = this.#database;
    for (const [mode, seconds] of Object.entries(usage.cpu_seconds)) {
      database.hostCpu.set(seconds, name, mode);
    }
    database.hostMemory.set(usage.memory_bytes, name);
    database.hostMemoryAvailable.set(usage.memory_available_bytes, name);
    database.hostDisk.set(usage.disk_bytes, name);
    database.hostDiskFree.set(usage.disk_free_bytes, name);
    database.hostReceived.set(usage.network_received_bytes, name);
    database.hostSent.set(usage.network_sent_bytes, name);
    database.warmVms.set(usage.warm_pool.waiting, name);
    database.warmTakes.set(usage.warm_pool.taken, name, "taken");
    database.warmTakes.set(usage.warm_pool.missed, name, "missed");
  }
}
