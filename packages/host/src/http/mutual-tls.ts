// The host API over TCP, beside the unix socket: TLS 1.3, and only for callers with a certificate of the
// cluster's authority. It begins to listen when the host has a certificate, and takes a new one without a
// restart. Clients without a certificate get no further than a handshake. The number of handshakes at once is
// bounded and the oldest makes room for the next, so that a flood of them does not keep control out, also where
// it comes from control's own address.

import { once } from "node:events";
import { createServer, type Server } from "node:https";
import { connectionBounds, fileLimit } from "@skerry/contract/connections/file-limit";
import { Doors } from "@skerry/contract/connections/doors";
import { PressureLog } from "@skerry/contract/connections/pressure-log";
import { SkerryError } from "@skerry/contract/errors";
import type { Logger } from "pino";
import type { Endpoint } from "../config/settings.ts";
import type { Identity } from "../config/identity.ts";
import type { HostServer } from "./conventions.ts";

export interface MutualTlsLimits {
  /** For a handshake, and for the head of a request. */
  readonly headMs: number;
  /** Handshakes at once from one address, and from all. */
  readonly strangersPerAddress: number;
  readonly strangers: number;
}

export const mutualTlsLimits: MutualTlsLimits = { headMs: 10_000, strangersPerAddress: 32, strangers: 1_024 };

/** Longer than control keeps an idle connection, so that control closes it first. */
const KEEPALIVE_MS = 75_000;

/** Resolves when it listens, or, where the host has no certificate yet, when it is going to. */
export async function serveMutualTls(
  server: HostServer,
  { endpoint, identity, log, limits = mutualTlsLimits }: MutualTlsOptions,
): Promise<AsyncDisposable> {
  await server.ready();
  const doors = doorsOf({ limits, log });
  const tlsServer = createServer(
    {
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: "TLSv1.3",
      handshakeTimeout: limits.headMs,
      headersTimeout: limits.headMs,
      // Uploads and executions end by their own deadlines, not by the server's.
      requestTimeout: 0,
      keepAliveTimeout: KEEPALIVE_MS,
    },
    doors.bounded((request, response) => server.routing(request, response)),
  );
  // As on the unix socket. The upgrade handler checks the caller, because upgrades pass no route.
  tlsServer.on("upgrade", (request, socket, head) => {
    if (!server.server.emit("upgrade", request, socket, head)) socket.destroy();
  });
  // A client without TLS or without a certificate of ours gets no answer.
  tlsServer.on("clientError", (_error, socket) => void socket.destroy());
  doors.guardTls(tlsServer, () => CLUSTER);
  const update = async () => {
    const { credentials } = identity;
    if (credentials === undefined) return;
    tlsServer.setSecureContext(credentials);
    if (tlsServer.listening) return;
    await listen(tlsServer, endpoint);
    log.info({ address: tlsServer.address(), host_id: identity.hostId }, "serving the cluster");
  };
  identity.onChange(update);
  await update();
  return {
    async [Symbol.asyncDispose]() {
      if (!tlsServer.listening) return;
      const closed = once(tlsServer, "close");
      tlsServer.close();
      tlsServer.closeAllConnections();
      await closed;
    },
  };
}

/** The operator who joins the machine sees this error. */
async function listen(tlsServer: Server, { host, port }: Endpoint): Promise<void> {
  tlsServer.listen(port, host);
  await once(tlsServer, "listening").catch((cause: unknown) => {
    const { code } = cause as { code?: unknown };
    throw new SkerryError("host_unreachable", `The host cannot listen on ${host}:${port}: ${String(code)}.`, {
      remediation: "Set SKERRY_HOST_LISTEN to an address of this machine and a port that is free.",
      cause,
    });
  });
}

interface MutualTlsOptions {
  readonly endpoint: Endpoint;
  readonly identity: Identity;
  readonly log: Logger;
  readonly limits?: MutualTlsLimits;
}

/** Bounds connections whose handshake has not ended; those of peers with a certificate are bounded by nothing but the
 *  files of this process. */
function doorsOf({ limits, log }: { limits: MutualTlsLimits; log: Logger }): Doors {
  const { strangersPerAddress: perAddress, strangers } = limits;
  const closable = Math.min(strangers, connectionBounds(fileLimit()).closable);
  const pressure = new PressureLog((closed) =>
    log.warn(closed, "connections without a certificate were closed to make room for new ones"),
  );
  return new Doors({
    bounds: { perAddress, closable, files: Infinity, perOwner: Infinity },
    firstByteMs: limits.headMs,
    observer: {
      count: () => undefined,
      closed: (reason, address) => pressure.closed(reason, address),
    },
  });
}

/** Every peer with a certificate of the authority is control or a host. */
const CLUSTER = "cluster";
