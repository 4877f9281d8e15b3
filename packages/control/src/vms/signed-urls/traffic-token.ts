// What opens all ports of one sandbox of E2B's clients, and nothing else.

import { createHmac, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { signingKey } from "./signing-key.ts";

export const TRAFFIC_HEADER = "e2b-traffic-access-token";

/** The same for all of a sandbox's life. No text that is signed for another purpose with this key begins like it. */
export async function trafficTokenOf({ db }: Pick<Context, "db">, id: string): Promise<string> {
  const code = createHmac("sha256", await signingKey(db)).update(`e2b traffic\n${id}`);
  return `ta_${code.digest("base64url")}`;
}

/** Undefined where the request brings none. */
export async function bringsTrafficToken(
  context: Pick<Context, "db">,
  { headers }: Pick<FastifyRequest, "headers">,
  id: string,
): Promise<boolean | undefined> {
  const { [TRAFFIC_HEADER]: brought } = headers;
  if (typeof brought !== "string") return undefined;
  const is = Buffer.from(brought);
  const right = Buffer.from(await trafficTokenOf(context, id));
  return is.length === right.length && timingSafeEqual(is, right);
}
