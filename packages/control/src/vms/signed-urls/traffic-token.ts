// What opens all ports of one sandbox of E2B's clients, and nothing else.

import type { FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";

export const TRAFFIC_HEADER = "e2b-traffic-access-token";

/** The same for all of a sandbox's life, unless the signing key is changed. */
export async function trafficTokenOf({ signing }: Pick<Context, "signing">, id: string): Promise<string> {
  return `ta_${(await signing.keys()).sign("e2b traffic", id).toString("base64url")}`;
}

/** Undefined where the request brings none. */
export async function bringsTrafficToken(
  { signing }: Pick<Context, "signing">,
  { headers }: Pick<FastifyRequest, "headers">,
  id: string,
): Promise<boolean | undefined> {
  const { [TRAFFIC_HEADER]: brought } = headers;
  if (typeof brought !== "string") return undefined;
  const [, code] = /^ta_([A-Za-z0-9_-]{43})$/.exec(brought) ?? [];
  if (code === undefined) return false;
  return (await signing.keys()).isSigned("e2b traffic", id, Buffer.from(code, "base64url"));
}
