// A signed URL opens one address, and a page has many. Where a port has an origin of its own, its first visit leaves the signature there as a
// cookie, and goes on without it in the address.

import type { FastifyRequest } from "fastify";

/** Browsers take the prefix from this very host alone, over HTTPS, for all of its paths. */
export const VISIT_COOKIE = "__Host-skerry-visit";

/** For `Set-Cookie`. It ends when the signature does. */
export function visitCookie(signature: string, nowMs: number): string {
  const expiresAtS = Number(signature.split(".", 1)[0]);
  const leftS = Math.max(0, Math.floor(expiresAtS - nowMs / 1_000));
  return `${VISIT_COOKIE}=${signature}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${leftS}`;
}

/** The signature of an earlier visit. Undefined where there is none, or where a page of another origin has the browser send it. */
export function visitOf(
  request: Pick<FastifyRequest, "headers" | "method" | "protocol" | "host">,
): string | undefined {
  const { cookie = "" } = request.headers;
  const prefix = `${VISIT_COOKIE}=`;
  const found = cookie
    .split(";")
    .map((one) => one.trim())
    .find((one) => one.startsWith(prefix));
  return found === undefined || !isOwnPage(request) ? undefined : found.slice(prefix.length);
}

/** All names below the domain are one site to a browser, so that `SameSite` keeps no other VM's page away. */
function isOwnPage({
  headers,
  method,
  protocol,
  host,
}: Pick<FastifyRequest, "headers" | "method" | "protocol" | "host">): boolean {
  const { origin, "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": target } = headers;
  if (site === undefined) return origin === `${protocol}://${host}`;
  if (site === "same-origin" || site === "none") return true;
  // A link that a person follows.
  return mode === "navigate" && target === "document" && (method === "GET" || method === "HEAD");
}
