// What services work with, on simulated hosts, and without limits.

import { pino } from "pino";
import { limitNames, type OrganizationLimits } from "@skerry/contract/limits/quotas";
import { Metrics } from "../src/metrics/metrics.ts";
import { AccessWatch } from "../src/auth/access-watch.ts";
import { CertificateAuthority } from "../src/joining/certificate-authority.ts";
import { TokenCache } from "../src/auth/token-cache.ts";
import type { Context } from "../src/context.ts";
import { HostCapacity } from "../src/capacity/host-capacity.ts";
import { VmLocations } from "../src/vms/vm-locations.ts";
import type { Database } from "../src/db/database.ts";
import type { SimulatedHosts } from "./simulated-hosts.ts";

export function simulatedContext(db: Database, hosts: SimulatedHosts): Context {
  const tokenCache = new TokenCache(db);
  // Object.fromEntries forgets which names it was given.
  const organization = Object.fromEntries(
    limitNames.map((name) => [name, 1_000_000_000]),
  ) as OrganizationLimits;
  return {
    db,
    hosts,
    tokenCache,
    hostCapacity: new HostCapacity(db),
    vmLocations: new VmLocations(),
    authority: new CertificateAuthority(db),
    log: pino({ level: "silent" }),
    metrics: new Metrics(),
    watch: new AccessWatch(tokenCache),
    limits: { organization, authFailuresPerMinute: 1, vcpusPerCpu: 16 },
    wake: () => undefined,
  };
}
