import { VmSamplesQuery } from "@skerry/contract/host-api/metrics";
import type { Host } from "../app/host.ts";
import { VmParams, type HostServer } from "./conventions.ts";

export function registerMetrics(server: HostServer, { engine }: Host): void {
  server.get("/vms/:id/metrics", { schema: { params: VmParams, querystring: VmSamplesQuery } }, (request) =>
    engine.samples(request.params.id, request.query.since_ms),
  );
}
