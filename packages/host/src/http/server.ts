// The host API. On the unix socket the socket's permissions decide who can connect; over TLS
// (`mutual-tls.ts`) certificates do.

import { chmod, chown, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { fastify, LogController } from "fastify";
import { MOVE_PROTOCOL } from "@skerry/contract/host-api/move-calls";
import type { Logger } from "pino";
import type { Host } from "../app/host.ts";
import { measureUsage } from "../system/usage.ts";
import { registerArchives } from "./archives.ts";
import { refuseStrangers } from "./callers.ts";
import { hostIsEnding } from "../vm/lifecycle/vm-table.ts";
import { asSkerryError, type HostServer } from "./conventions.ts";
import { registerChecks } from "./checks.ts";
import { registerConsole } from "./console.ts";
import { registerEntries } from "./entries.ts";
import { registerDenials } from "./denials.ts";
import { registerEdge } from "./edge.ts";
import { registerExecute } from "./execute.ts";
import { registerExecutions } from "./executions.ts";
import { registerFiles } from "./files.ts";
import { registerIdentity } from "./identity.ts";
import { registerMetrics } from "./metrics.ts";
import { registerMoves, upgradeMove } from "./moves.ts";
import { registerPorts } from "./ports.ts";
import { registerSavedMoves } from "./saved-moves.ts";
import { routeUpgrade } from "./upgrades.ts";
import { validatorCompiler } from "./validator-compiler.ts";
import { refuseSuperseded } from "./superseded.ts";
import { registerSnapshots } from "./snapshots.ts";
import { registerTemplates } from "./templates.ts";
import { registerVms } from "./vms.ts";
import { registerWatches } from "./watches.ts";
import { registerCache } from "./cache.ts";

const BODY_MAX_BYTES = 1024 * 1024;
/** A path and the attributes of a file are in it, percent-encoded. */
const HEAD_MAX_BYTES = 64 * 1024;

export function buildServer(host: Host, log: Logger): HostServer {
  const server = fastify({
    // Control logs the requests of users; this process logs failures where they happen.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_MAX_BYTES,
    http: { maxHeaderSize: HEAD_MAX_BYTES },
    // Uploads and executions end by their own deadlines, not by the server's.
    requestTimeout: 0,
  }).withTypeProvider<TypeBoxTypeProvider>();
  server.setValidatorCompiler(validatorCompiler);
  // A file's bytes are not parsed but read by the route, as they come.
  server.addContentTypeParser("application/octet-stream", (_request, _payload, done) => done(null));
  server.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    // The end of this host process has closed QEMU's sockets under the call.
    const told = asSkerryError(error);
    const known = told.code === "internal" && host.engine.isClosing ? hostIsEnding(error) : told;
    if (known.code === "internal") log.error({ err: error, url: request.url }, "a call failed");
    return reply.status(known.status).send(known.toBody());
  });
  refuseStrangers(server);
  refuseSuperseded(server, host);
  server.get("/info", async () => ({
    ...(await host.info()),
    ended: host.engine.ended + host.checks.changes,
    usage: { ...(await measureUsage(host.config.stateFolder)), warm_pool: host.pool.counts },
  }));
  registerIdentity(server, host);
  registerVms(server, host);
  registerSnapshots(server, host);
  registerExecute(server, host);
  registerExecutions(server, host);
  registerFiles(server, host);
  registerEntries(server, host);
  registerArchives(server, host);
  registerWatches(server, host);
  registerConsole(server, host);
  registerPorts(server, host);
  registerChecks(server, host);
  registerEdge(server, host);
  registerMetrics(server, host);
  registerDenials(server, host);
  registerMoves(server, host);
  registerSavedMoves(server, host);
  registerTemplates(server, host);
  registerCache(server, host, log);
  server.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const upgrade = { request, socket, head };
    if (request.headers.upgrade === MOVE_PROTOCOL) void upgradeMove(host.moves, upgrade);
    else routeUpgrade(server, upgrade);
  });
  return server;
}

/** Listens on the configured socket, in the place of one that a killed predecessor left. */
export async function listen(server: HostServer, host: Host): Promise<void> {
  const { socket, socketGid } = host.config;
  await rm(socket, { force: true });
  await server.listen({ path: socket });
  await chmod(socket, 0o660);
  await chown(socket, 0, socketGid ?? 0);
}
