// A machine's console, and logs that are kept of consoles: its last lines, and with `follow` what comes then, also across its stops and starts,
// until it is destroyed. A caller that accepts it gets each piece with the time at which it came, and
// positions from one of which a later call may go on.

import { KeptLogParams } from "@skerry/contract/host-api/kept-logs";
import { CONSOLE_FROM, PieceWriter, TIMED_CONSOLE } from "@skerry/contract/host-api/timed-console";
import { ConsoleQuery } from "@skerry/contract/host-api/vm";
import type { Host } from "../app/host.ts";
import { readConsole } from "../vm/qemu/console-log.ts";
import { writeBodyPiece } from "./body.ts";
import { VmParams, type HostServer } from "./conventions.ts";

export function registerConsole(server: HostServer, { engine, keptLogs }: Host): void {
  server.put("/kept-logs/:group/:vm", { schema: { params: KeptLogParams } }, async (request, reply) => {
    await keptLogs.keep(engine.consoleFile(request.params.vm), request.params);
    return reply.status(204).send();
  });

  server.get("/kept-logs/:group/:vm", { schema: { params: KeptLogParams } }, async (request, reply) =>
    reply.type(TIMED_CONSOLE).send(await keptLogs.read(request.params)),
  );

  server.get(
    "/vms/:id/console",
    { schema: { params: VmParams, querystring: ConsoleQuery } },
    async (request, reply) => {
      const file = engine.consoleFile(request.params.id);
      const gone = new AbortController();
      reply.hijack();
      reply.raw.once("close", () => gone.abort());
      const isTimed = request.headers.accept === TIMED_CONSOLE;
      reply.raw.writeHead(200, { "content-type": isTimed ? TIMED_CONSOLE : "application/octet-stream" });
      reply.raw.flushHeaders();
      const query = { ...request.query, from: positionOf(request.headers[CONSOLE_FROM]) };
      const writer = new PieceWriter();
      try {
        for await (const piece of readConsole(file, query, gone.signal)) {
          const bytes = isTimed ? writer.written(piece) : piece.bytes;
          if (!(await writeBodyPiece(reply.raw, bytes))) return;
        }
        reply.raw.end();
      } catch (error) {
        reply.raw.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    },
  );
}

function positionOf(header: string | readonly string[] | undefined): number | undefined {
  return typeof header === "string" && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}
