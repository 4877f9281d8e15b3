// The one place that makes a context.

import { EDGE_PORT } from "@skerry/contract/apps/app-bounds";
import type { Logger } from "pino";
import {
  ARCHIVE_UPLOADS_MAX,
  BUILD_UPLOADS_MAX,
  ORGANIZATION_ARCHIVE_UPLOADS_MAX,
  ORGANIZATION_FORWARDS_MAX,
  ORGANIZATION_STREAMS_MAX,
  ORGANIZATION_UPLOADS_MAX,
  VM_FORWARDS_MAX,
  VM_STREAMS_MAX,
} from "@skerry/contract/bounds";
import { AccessWatch } from "../auth/access-watch.ts";
import { TokenCache } from "../auth/token-cache.ts";
import { HostCapacity } from "../capacity/host-capacity.ts";
import { ContextState, type Context } from "../context.ts";
import type { Database } from "../db/database.ts";
import { HostDirectory } from "../host-client/host-directory.ts";
import { AuditTrail } from "../audit/audit-trail.ts";
import { CertificateAuthority } from "../joining/certificate-authority.ts";
import { Metrics } from "../metrics/metrics.ts";
import { OpenStreams } from "../vms/open-streams.ts";
import { Sealing } from "../sealing/sealing.ts";
import { declaredServices, rooms } from "./rooms.ts";
import { SigningKeys } from "../signing/signing-keys.ts";
import { VmLocations } from "../vms/vm-locations.ts";

type Parts = Omit<Context, "db" | "log">;

/** Every part is new and belongs to this context, except the given ones. Limits have no default. By default every host socket is called,
 *  `wake` does nothing,
 *  nothing can be sealed, there is no object store, neither clients nor the dashboard are handed out, and clients of E2B are served. */
export function makeContext(
  db: Database,
  log: Logger,
  given: Pick<Parts, "limits"> & Partial<Parts>,
): Context {
  const metrics = new Metrics();
  const sealing = given.sealing ?? new Sealing(undefined);
  const authority = new CertificateAuthority(db, sealing);
  const tokenCache = new TokenCache(db);
  return {
    db,
    log,
    authority,
    hosts: new HostDirectory(() => authority.credentials()),
    hostCapacity: new HostCapacity(db),
    vmLocations: new VmLocations(),
    openStreams: new OpenStreams("streams", {
      perVm: VM_STREAMS_MAX,
      perOrganization: ORGANIZATION_STREAMS_MAX,
    }),
    openForwards: new OpenStreams("forwards", {
      perVm: VM_FORWARDS_MAX,
      perOrganization: ORGANIZATION_FORWARDS_MAX,
    }),
    openUploads: new OpenStreams("uploads of contexts", {
      perVm: BUILD_UPLOADS_MAX,
      perOrganization: ORGANIZATION_UPLOADS_MAX,
    }),
    openArchives: new OpenStreams("uploads of archives", {
      perVm: ARCHIVE_UPLOADS_MAX,
      perOrganization: ORGANIZATION_ARCHIVE_UPLOADS_MAX,
    }),
    metrics,
    trail: new AuditTrail({ db, log, metrics }),
    tokenCache,
    watch: new AccessWatch(tokenCache),
    registries: { mirrors: [], caFile: undefined },
    logs: { forward: undefined, caFile: undefined, privateCidrs: [] },
    sealing,
    signing: new SigningKeys(db, sealing),
    objectStore: undefined,
    rooms,
    serviceNames: declaredServices.map(({ name }) => name),
    state: new ContextState(),
    wake: () => undefined,
    buildDomains: [],
    apps: { domain: "localhost", port: EDGE_PORT },
    sandboxDomain: undefined,
    hasLocalPorts: false,
    clients: {},
    dashboard: undefined,
    e2b: true,
    ...given,
  };
}
