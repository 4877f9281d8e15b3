import { Type } from "typebox";
import { PageQuery } from "@skerry/contract/common";
import { TokenCreated, TokenCreateRequest, TokenList } from "@skerry/contract/tokens";
import type { Context } from "../context.ts";
import { listTokensOf, revoke, tokenCreation } from "./token-service.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { emptyBodyIsObject } from "../http/json-bodies.ts";
import { created } from "../api/idempotent-create.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

export function tokenRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.post(
      "/v1/auth/tokens",
      {
        preValidation: emptyBodyIsObject,
        schema: {
          operationId: "createToken",
          tags: ["tokens"],
          summary: "Mint a token; its secret is in this answer and nowhere else",
          description:
            "It never outlives the token of this request: without `expires_in` both end together, a longer one is refused.",
          body: ref(TokenCreateRequest),
          response: { 201: ref(TokenCreated) },
        },
      },
      async (request, reply) =>
        reply
          .code(201)
          .send(
            await created(
              context,
              { request, reply },
              tokenCreation(context, callerOf(request), request.body),
            ),
          ),
    );
    app.get(
      "/v1/auth/tokens",
      {
        schema: {
          operationId: "listTokens",
          tags: ["tokens"],
          summary: "The tokens of the organization, newest first, without their secrets",
          querystring: PageQuery,
          response: { 200: ref(TokenList) },
        },
      },
      (request) => listTokensOf(context, callerOf(request), request.query),
    );
    app.delete(
      "/v1/auth/tokens/:id",
      {
        schema: {
          operationId: "revokeToken",
          tags: ["tokens"],
          summary: "Revoke a token and all that it minted; the next request with any of them is refused",
          params: Type.Object({ id: Type.String() }),
          response: { 204: Type.Null({ description: "It is revoked." }) },
        },
      },
      async (request, reply) => {
        await revoke(context, callerOf(request), request.params.id);
        return reply.code(204).send(null);
      },
    );
    done();
  };
}
