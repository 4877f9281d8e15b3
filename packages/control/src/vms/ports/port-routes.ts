import { once } from "node:events";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { callerOf, tenantOf } from "../../api/authenticate-hook.ts";
import { requestSignal } from "../../api/request-signal.ts";
import type { Handler } from "../../api/routes.ts";
import type { Context } from "../../context.ts";
import { countedRequestOf, type CountedResponse } from "../../http/counted-request.ts";
import { isUpgrade } from "../../http/upgrades.ts";
import { publicAddress } from "../../http/public-address.ts";
import { splitSignature } from "../signed-urls/signature.ts";
import { isLocal, LOCAL_DOMAIN, portHostName } from "../port-host-name.ts";
import { visitCookie } from "../signed-urls/visit-cookie.ts";
import { portOptionsOf } from "../signed-urls/visitors.ts";
import type { PortOptions } from "../../db/tables/sandbox-tables.ts";
import { callVm, vmError, type VmKind } from "../vm-kind.ts";
import type { listPortsOperation, requestPortOperation, setPortAccessOperation } from "./port-operations.ts";
import { connectPort } from "./connect-port.ts";
import { readPort, splitPortUrl } from "./port-path.ts";
import { listPorts, portError, setPortAccess } from "./ports.ts";
import { isVisit, noticeOf } from "./port-notice.ts";
import { keptConnectionsOf, proxy, proxyError, proxyLimits, type Proxied } from "./proxy.ts";

export function listPortsHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof listPortsOperation>> {
  return (request) => listPorts(context, callerOf(request), { kind, id: request.params.id });
}

export function setPortAccessHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof setPortAccessOperation>> {
  return (request) =>
    setPortAccess(context, callerOf(request), {
      kind,
      id: request.params.id,
      port: readPort(request.params.port),
      isPublic: request.body.public,
    });
}

export function requestPortHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof requestPortOperation>> {
  return async (request, reply) => {
    const isOwnOrigin = countedRequestOf(request).portHost !== undefined;
    const place = isOwnOrigin ? undefined : ownOriginOf(context, request);
    if (place !== undefined) return reply.redirect(place, 303);
    if (!isOwnOrigin) refuseParts(request);
    const notice = isOwnOrigin ? undefined : noticeOf(context, request);
    if (notice !== undefined) return sendNotice(reply, notice);
    const visit = isOwnOrigin ? firstVisit(request) : undefined;
    if (visit !== undefined) return reply.header("set-cookie", visit.cookie).redirect(visit.location, 303);
    const tenant = tenantOf(request);
    const port = readPort(request.params.port);
    const ref = { kind, id: request.params.id };
    const options = await portOptionsOf(context, ref);
    const call = proxiedOf(request, reply, { port, options });
    const isTls = options.https?.includes(port) === true;
    try {
      await callVm(context, tenant, ref, (vm, client) =>
        proxy({
          ...call,
          kept: keptConnectionsOf(context),
          target: {
            host: `${vm.execution_id}:${port}`,
            connect: async () => {
              const connection = await connectPort(context, tenant, { kind, vm, client, port }, call.gone);
              return isTls ? overTls(connection, call.gone) : connection;
            },
          },
        }),
      );
    } catch (error) {
      // Its head is on its way, so that its end is all that can still be told.
      if (reply.sent) reply.raw.destroy();
      else throw portError(await vmError(context, tenant, ref, proxyError(error)), { kind, port });
    }
    return reply;
  };
}

function sendNotice(reply: FastifyReply, notice: NonNullable<ReturnType<typeof noticeOf>>): FastifyReply {
  void reply.header("cache-control", "no-store").header("referrer-policy", "no-referrer");
  if ("location" in notice) return reply.header("set-cookie", notice.cookie).redirect(notice.location, 303);
  return reply
    .type("text/html; charset=utf-8")
    .header("content-security-policy", notice.policy)
    .send(notice.html);
}

/** A browser that opens a page, by itself or inside another page. */
function isNavigation({ method, headers }: FastifyRequest): boolean {
  return method === "GET" && headers["sec-fetch-mode"] === "navigate";
}

/**
 * The same page below `localhost`, for a browser on this machine. Only browsers are led there: other programs
 * ask the machine's resolver, which often has no address for names below `localhost`. Only over HTTP, because
 * a certificate of the API seldom fits such names; and not inside another page, where the cookie of a visit
 * is not sent.
 */
function ownOriginOf(
  { hasLocalPorts }: Context,
  request: FastifyRequest<{ Params: { id: string; port: string } }>,
): string | undefined {
  const isHttpVisit = isVisit(request) && request.protocol === "http";
  if (!hasLocalPorts || !isHttpVisit || !isLocal(request.host)) return undefined;
  const { id, port } = request.params;
  const { guestUrl } = splitPortUrl(request.raw.url ?? "");
  return `http://${portHostName(LOCAL_DOMAIN, id, readPort(port), request.host)}${guestUrl}`;
}

/**
 * A browser that opens a signed URL. Elsewhere, and without a connection that it trusts, the signature stays
 * in the address.
 */
function firstVisit(
  request: FastifyRequest,
): { readonly cookie: string; readonly location: string } | undefined {
  const { signature, rest } = splitSignature(request.raw.url ?? "");
  // A browser keeps the cookie where it trusts the connection, which it does over HTTP below `localhost`
  // alone.
  const isTrusted =
    request.protocol === "https" || countedRequestOf(request).portHost?.endsWith(`.${LOCAL_DOMAIN}`) === true;
  if (signature === undefined || !isNavigation(request) || !isTrusted) return undefined;
  return {
    cookie: visitCookie(signature, Date.now()),
    // Whole, because a path may begin with two slashes.
    location: publicAddress(request) + splitPortUrl(rest).guestUrl,
  };
}

/** What runs, or decides how a page looks, in the page that loads it. */
const PARTS_OF_PAGES = new Set([
  "audioworklet",
  "paintworklet",
  "script",
  "serviceworker",
  "sharedworker",
  "style",
  "worker",
]);

/**
 * Pages of guests have an origin of their own here, and no service workers. So a browser that loads such a part for a page of this origin loads it into
 * one of ours, which something has led on: what the guest answers would run with the rights of the person who looks at it.
 */
function refuseParts({ headers }: FastifyRequest): void {
  if (headers["service-worker"] !== undefined) {
    throw new SkerryError("forbidden", "Pages of a guest can have no service workers at this address.");
  }
  const part = headers["sec-fetch-dest"];
  if (headers["sec-fetch-site"] !== "same-origin" || typeof part !== "string") return;
  if (!PARTS_OF_PAGES.has(part)) return;
  throw new SkerryError(
    "forbidden",
    `A page of this server cannot load what a guest answers as its ${part}.`,
    {
      remediation:
        "Open the port as a page of its own. Where `SKERRY_SANDBOX_DOMAIN` is set, its pages load their own scripts and styles.",
    },
  );
}

/** What a guest says of itself in a certificate that it signed itself: the way to it is ours. */
async function overTls(connection: Duplex, gone: AbortSignal): Promise<Duplex> {
  const secure = connectTls({ socket: connection, rejectUnauthorized: false, servername: "localhost" });
  try {
    await once(secure, "secureConnect", { signal: gone });
  } catch (error) {
    secure.destroy();
    throw new SkerryError("guest_failed", "What listens on the port speaks no TLS.", { cause: error });
  }
  return secure;
}

/** Undefined: as all are. */
function hostHeaderOf({ host }: PortOptions, port: number): string | undefined {
  return host?.replaceAll("${PORT}", String(port));
}

function proxiedOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { port, options }: { readonly port: number; readonly options: PortOptions },
): Omit<Proxied, "target" | "kept"> {
  const raw = countedRequestOf(request);
  const { signature, rest } = splitSignature(raw.url ?? "");
  const { prefix, guestUrl } = splitPortUrl(rest);
  return {
    request: raw,
    // Our server makes no other kind of response.
    response: reply.raw as CountedResponse,
    port,
    guestUrl,
    isSigned: signature !== undefined,
    client: {
      ...{ address: request.ip, host: request.host, protocol: request.protocol },
      prefix: raw.portHost === undefined ? prefix : undefined,
      guestHost: hostHeaderOf(options, port),
      isGuestTls: options.https?.includes(port) === true,
    },
    isWebSocket: isUpgrade(raw),
    gone: requestSignal(reply),
    limits: proxyLimits,
    answering: () => {
      // Those of the framework, which sends nothing from here on: what the caller has left of its limits.
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value);
      reply.hijack();
    },
  };
}
