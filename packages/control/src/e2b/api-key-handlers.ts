// API keys for E2B's clients: tokens of ours. A key is shown once, in the form that the clients take for one.

import type { FastifyRequest } from "fastify";
import type { Token } from "@skerry/contract/organizations/token";
import { Type } from "typebox";
import { callerOf } from "../api/authenticate-hook.ts";
import { createIdempotently } from "../api/create-idempotently.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { listTokensOf, revoke, tokenCreation } from "../organizations/tokens.ts";
import { checker } from "./checked-body.ts";
import { KEY_PREFIX, keyOfSecret } from "./credentials.ts";
import type { E2bHandler } from "./e2b-routes.ts";
import { idOfUuid, uuidOf } from "./uuid-ids.ts";

const readNewKey = checker(
  Type.Object({ name: Type.String({ minLength: 1, maxLength: 100 }) }, { additionalProperties: false }),
  "body",
);

const PAGE = 100;
/** The clients know no pages of them. */
const KEYS_MAX = 2_000;

/** Nothing of a secret is kept that could be shown. */
const mask = { prefix: KEY_PREFIX, valueLength: 92, maskedValuePrefix: "", maskedValueSuffix: "" };

function shown({ id, name, user_id, created_at, last_used_at }: Token) {
  return {
    ...{ id: uuidOf(id), name, mask, createdAt: created_at, lastUsed: last_used_at },
    createdBy: { id: uuidOf(user_id), email: null },
  };
}

const listApiKeys: E2bHandler = async (context, request) =>
  (await tokensOf(context, callerOf(request))).map(shown);

async function tokensOf(context: Context, caller: Caller): Promise<Token[]> {
  const found: Token[] = [];
  for (let cursor: string | null | undefined; cursor !== null && found.length < KEYS_MAX;) {
    const page = { limit: PAGE, ...(cursor !== undefined && { cursor }) };
    const { items, next_cursor } = await listTokensOf(context, caller, page);
    found.push(...items);
    cursor = next_cursor;
  }
  return found;
}

const createApiKey: E2bHandler = async (context, request, reply) => {
  const creation = tokenCreation(context, callerOf(request), readNewKey(request.body));
  const { token, ...made } = await createIdempotently(context, { request, reply }, creation);
  return reply.code(201).send({ ...shown(made), key: keyOfSecret(token) });
};

const deleteApiKey: E2bHandler = async (context, request, reply) => {
  const { key } = (request as FastifyRequest<{ Params: { key: string } }>).params;
  await revoke(context, callerOf(request), idOfUuid("token", key));
  return reply.code(204).send(null);
};

export const apiKeyHandlers = { listApiKeys, createApiKey, deleteApiKey };
