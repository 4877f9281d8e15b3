import { EgressChange, ExecutionQuery, StopVm, VmSpec, type Vm } from "@skerry/contract/host-api/vm";
import { formatTiming, SERVER_TIMING } from "@skerry/contract/server-timing";
import type { Injection } from "@skerry/contract/vms/inject";
import type { Host } from "../app/host.ts";
import { giveTrust } from "../vm/start/egress-trust.ts";
import { VmParams, type HostServer } from "./conventions.ts";

/** A template that was frozen already takes less. */
const TOLD_FROM_MS = 100;

export function registerVms(server: HostServer, { engine }: Host): void {
  server.get("/vms", () => ({ items: engine.list() }));

  server.get("/vms/:id", { schema: { params: VmParams } }, (request) => engine.get(request.params.id));

  server.put("/vms/:id", { schema: { params: VmParams, body: VmSpec } }, (request, reply) =>
    engine.put(request.params.id, request.body, (freeze) => {
      if (freeze >= TOLD_FROM_MS && !reply.sent) void reply.header(SERVER_TIMING, formatTiming({ freeze }));
    }),
  );

  server.post("/vms/:id/stop", { schema: { params: VmParams, body: StopVm } }, (request) =>
    engine.stop(request.params.id, request.body),
  );

  server.post("/vms/:id/recover", { schema: { params: VmParams } }, (request) =>
    engine.recover(request.params.id),
  );

  server.put("/vms/:id/egress", { schema: { params: VmParams, body: EgressChange } }, async (request) => {
    const { id } = request.params;
    const { execution_id, egress } = request.body;
    const report = await engine.setEgress(id, request.body);
    // The policy is in force already, so the answer does not wait for the guest.
    if (egress.injection !== undefined)
      void trustIn(engine, { id, execution_id }, egress.injection).catch((error: unknown) =>
        request.log.warn({ err: error, vm: id }, "a guest was not given the authority of its VM"),
      );
    return report;
  });

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

async function trustIn(
  engine: Host["engine"],
  { id, execution_id }: Pick<Vm, "id" | "execution_id">,
  injection: Injection,
): Promise<void> {
  using guest = await engine.use(id, execution_id);
  await giveTrust(guest.channel, injection);
}
