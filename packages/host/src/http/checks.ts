import { CheckChange, type CheckStates } from "@skerry/contract/host-api/checks";
import type { Host } from "../app/host.ts";
import { VmParams, type HostServer } from "./conventions.ts";

export function registerChecks(server: HostServer, { checks }: Host): void {
  server.get("/checks", (): CheckStates => ({ items: checks.list() }));

  server.put(
    "/vms/:id/check",
    { schema: { params: VmParams, body: CheckChange } },
    async (request, reply) => {
      await checks.set(request.params.id, request.body);
      return reply.status(204).send();
    },
  );
}
