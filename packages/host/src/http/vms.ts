import { EgressChange, ExecutionQuery, StopVm, VmSpec } from "@skerry/contract/host-api/vm";
import type { Host } from "../host.ts";
import { VmParams, type HostServer } from "./conventions.ts";

export function registerVms(server: HostServer, { engine }: Host): void {
  server.get("/vms", () => ({ items: engine.list() }));

  server.get("/vms/:id", { schema: { params: VmParams } }, (request) => engine.get(request.params.id));

  server.put("/vms/:id", { schema: { params: VmParams, body: VmSpec } }, (request) =>
    engine.put(request.params.id, request.body),
  );

  server.post("/vms/:id/stop", { schema: { params: VmParams, body: StopVm } }, (request) =>
    engine.stop(request.params.id, request.body),
  );

  server.post("/vms/:id/recover", { schema: { params: VmParams } }, (request) =>
    engine.recover(request.params.id),
  );

  server.put("/vms/:id/egress", { schema: { params: VmParams, body: EgressChange } }, (request) =>
    engine.setEgress(request.params.id, request.body),
  );

  server.get("/vms/:id/egress", { schema: { params: VmParams, querystring: ExecutionQuery } }, (request) =>
    engine.egress(request.params.id, request.query.execution_id),
  );

  server.delete(
    "/vms/:id",
    { schema: { params: VmParams, querystring: ExecutionQuery } },
    async (request, reply) => {
      await engine.destroy(request.params.id, request.query.execution_id);
      return reply.status(204).send();
    },
  );
}
