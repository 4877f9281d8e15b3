import { PathQuery } from "@skerry/contract/host-api/vm";
import { SkerryError } from "@skerry/contract/errors";
import type { IncomingMessage } from "node:http";
import { packDirectory, unpackArchive } from "../guest/archives.ts";
import type { Host } from "../app/host.ts";
import { writeBodyPiece } from "./body.ts";
import { VmParams, type HostServer } from "./conventions.ts";
import { leftBy } from "./left-by.ts";
import { untilCut, useForTransfer } from "./transfers.ts";

export function registerArchives(server: HostServer, { engine }: Host): void {
  server.get(
    "/vms/:id/archive",
    { schema: { params: VmParams, querystring: PathQuery } },
    async (request, reply) => {
      const { execution_id, path } = request.query;
      using guest = await useForTransfer(engine, request.params.id, execution_id);
      guest.cut.addEventListener("abort", () => reply.raw.destroy(), { once: true });
      const pieces = await packDirectory(guest.channel, path, leftBy(reply.raw));
      reply.hijack();
      reply.raw.writeHead(200, { "content-type": "application/x-tar" });
      try {
        for await (const piece of pieces) if (!(await writeBodyPiece(reply.raw, piece))) return;
        reply.raw.end();
      } catch (error) {
        // Without its last chunk, so that a part is not taken for all of it.
        reply.raw.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    },
  );

  server.put(
    "/vms/:id/archive",
    { schema: { params: VmParams, querystring: PathQuery } },
    async (request, reply) => {
      const { execution_id, path } = request.query;
      using guest = await useForTransfer(engine, request.params.id, execution_id);
      const { channel, cut } = guest;
      await unpackArchive(channel, path, untilCut(whole(request.raw), cut), cut);
      // The remainder of a refused body is read and dropped, because the next request follows it on this connection.
      request.raw.resume();
      return reply.status(204).send();
    },
  );
}

/** The body, or an error where it breaks off. */
async function* whole(body: IncomingMessage): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) yield chunk as Buffer;
  } catch (cause) {
    throw new SkerryError("upload_incomplete", "The archive broke off; what came before is unpacked.", {
      cause,
    });
  }
}
