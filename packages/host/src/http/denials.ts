import { VmDenialsQuery } from "@skerry/contract/host-api/denials";
import type { Host } from "../app/host.ts";
import type { HostServer } from "./conventions.ts";

export function registerDenials(server: HostServer, { resources }: Host): void {
  server.get("/denials", { schema: { querystring: VmDenialsQuery } }, (request) =>
    resources.denials.since(request.query.since_minute),
  );
}
