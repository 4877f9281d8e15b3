import { encodeJson, frameTypes } from "@skerry/contract/frames";
import { SkerryError } from "@skerry/contract/errors";
import { FRAMES_CONTENT_TYPE } from "@skerry/contract/host-api/vm";
import { WatchHostQuery } from "@skerry/contract/host-api/files";
import { WATCHES_MAX } from "@skerry/contract/bounds";
import type { ServerResponse } from "node:http";
import { GuestWatch } from "../guest/watch.ts";
import type { Host } from "../app/host.ts";
import { writeBodyPiece } from "./body.ts";
import { asSkerryError, VmParams, type HostServer } from "./conventions.ts";
import { leftBy } from "./left-by.ts";
import { STREAM, withPings } from "./pings.ts";
import { VmCounts } from "./vm-counts.ts";

export function registerWatches(server: HostServer, { engine }: Host): void {
  const watches = new VmCounts(WATCHES_MAX, "watches");

  server.get(
    "/vms/:id/watch",
    { schema: { params: VmParams, querystring: WatchHostQuery } },
    async (request, reply) => {
      const { execution_id, path, recursive } = request.query;
      const { id } = request.params;
      const held = new AbortController();
      using _counted = watches.take(id);
      // What holds the guest to move or to pause it does not wait for a watch.
      using guest = await engine.useUntilHeld(id, execution_id, () => held.abort());
      const watch = await GuestWatch.open(guest.channel, path, recursive);
      const over = AbortSignal.any([held.signal, leftBy(reply.raw)]);
      over.addEventListener("abort", () => watch.cancel(), { once: true });
      if (over.aborted) watch.cancel();
      reply.hijack();
      await relay(watch, reply.raw, held.signal);
    },
  );
}

async function relay(watch: GuestWatch, response: ServerResponse, held: AbortSignal): Promise<void> {
  response.writeHead(200, { "content-type": FRAMES_CONTENT_TYPE });
  response.write(encodeJson(frameTypes.head, STREAM, {}));
  try {
    for await (const event of withPings(() => watch.read(), response))
      if (!(await writeBodyPiece(response, encodeJson(frameTypes.data, STREAM, event)))) return;
    await watch.end();
    response.end(encodeJson(frameTypes.close, STREAM, {}));
  } catch (error) {
    const known = held.aborted ? moving() : asSkerryError(error as Error);
    response.end(encodeJson(frameTypes.reset, STREAM, known.toBody()));
  }
}

function moving(): SkerryError {
  return new SkerryError("vm_moving", "The microVM is being moved or paused.", {
    remediation: "Watch again, and look what has changed meanwhile.",
    retryAfterS: 1,
  });
}
