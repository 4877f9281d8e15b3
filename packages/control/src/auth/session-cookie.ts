// The cookie of a session, and when it counts. `SameSite` keeps neither other ports of 127.0.0.1 away nor pages below the same domain, so a
// cookie counts only where the browser says that a page of this very origin has made the request. Browsers say so over HTTPS and to the
// machine itself; where they do not, no cookie counts.

import type { FastifyRequest } from "fastify";

/** Browsers take the prefix from this very host alone, only as `Secure`, and for all of its paths. */
export const SESSION_COOKIE = "__Host-skerry";

const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Strict";

/** For `Set-Cookie`. */
export function sessionCookie(secret: string, lifetimeS: number): string {
  return `${SESSION_COOKIE}=${secret}; ${ATTRIBUTES}; Max-Age=${lifetimeS}`;
}

/** For `Set-Cookie`: has the browser forget it. */
export const ENDED_SESSION_COOKIE = sessionCookie("", 0);

type Asked = Pick<FastifyRequest, "headers" | "protocol" | "host">;

/** Undefined where there is none, or more than one, or where it does not count. */
export function sessionSecretOf(request: Asked, { isUpgrade }: { readonly isUpgrade: boolean }) {
  const { headers } = request;
  if (headers.authorization !== undefined || headers["x-api-key"] !== undefined) return undefined;
  const isOwn = isUpgrade ? isOwnWebSocket(request) : isOwnPage(request);
  const prefix = `${SESSION_COOKIE}=`;
  const found = (headers.cookie ?? "").split(";").flatMap((one) => {
    const pair = one.trim();
    return pair.startsWith(prefix) ? [pair.slice(prefix.length)] : [];
  });
  return isOwn && found.length === 1 ? found[0] : undefined;
}

/** A page of this origin has made the request, and no other page has led the browser to it. */
export function isOwnPage({ headers }: Pick<FastifyRequest, "headers">): boolean {
  return headers["sec-fetch-site"] === "same-origin";
}

/** Not every browser says by `Sec-Fetch-Site` which page begins a WebSocket; all say its origin. */
function isOwnWebSocket({ headers, protocol, host }: Asked): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  if (site !== undefined && site !== "same-origin") return false;
  // A proxy that is not trusted may have taken HTTPS off.
  return origin === `https://${host}` || (protocol === "http" && origin === `http://${host}`);
}
