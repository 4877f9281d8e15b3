import { PauseVm, SnapshotParams, SnapshotVm } from "@skerry/contract/host-api/snapshots";
import { formatTiming, SERVER_TIMING } from "@skerry/contract/server-timing";
import type { Host } from "../app/host.ts";
import { VmParams, type HostServer } from "./conventions.ts";

export function registerSnapshots(server: HostServer, { engine, snapshots }: Host): void {
  server.post("/vms/:id/pause", { schema: { params: VmParams, body: PauseVm } }, (request) =>
    engine.pause(request.params.id, request.body),
  );

  server.get("/unused-vms", () => ({ items: engine.runningVms.unused() }));

  server.post("/vms/:id/snapshots", { schema: { params: VmParams, body: SnapshotVm } }, (request, reply) =>
    engine.snapshot(request.params.id, request.body, (still) => {
      void reply.header(SERVER_TIMING, formatTiming({ still }));
    }),
  );

  server.get("/snapshots", () => ({ items: snapshots.list() }));

  server.delete("/snapshots/:id", { schema: { params: SnapshotParams } }, async (request, reply) => {
    await snapshots.delete(request.params.id);
    return reply.status(204).send();
  });
}
