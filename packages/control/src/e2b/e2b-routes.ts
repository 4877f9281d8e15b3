// E2B's clients at our address: the routes alone. What answers them is loaded when the first request of its sort comes, so a platform that serves no such
// client holds nothing of it.

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import type { LargeBody, Operation } from "../api/operation.ts";
import { holdLargeBody } from "../api/large-bodies.ts";
import { largeBuild } from "../builds/build-operations.ts";
import type { Context } from "../context.ts";
import {
  apiHealth,
  archiveOperations,
  e2bOperations,
  rpcOperations,
  sandboxCallOperations,
} from "./e2b-operations.ts";
import { sendE2bError } from "./e2b-errors.ts";

export type E2bHandler = (context: Context, request: FastifyRequest, reply: FastifyReply) => unknown;
export type ApiHandlers = Readonly<Record<keyof typeof e2bOperations, E2bHandler>>;
export type SandboxCallHandlers = Readonly<Record<keyof typeof sandboxCallOperations, E2bHandler>>;

/** Bytes of a body of JSON. */
const BODY_MAX_BYTES = 1024 * 1024;
/** Where the bound is another one: the steps of each template are kept as they come, for as long as it is there. */
const largeBodies: { readonly [id: string]: LargeBody | undefined } = {
  startTemplateBuild: { ...largeBuild, maxBytes: 128 * 1024 },
};

export async function registerE2b(app: FastifyInstance, context: Context): Promise<void> {
  await app.register(async (scope) => {
    scope.setErrorHandler(sendE2bError);
    for (const [id, operation] of Object.entries(e2bOperations)) {
      const largeBody = largeBodies[id];
      scope.route({
        ...routeOf(operation, { isInSandbox: false }),
        bodyLimit: largeBody?.maxBytes ?? BODY_MAX_BYTES,
        ...(largeBody !== undefined && { preParsing: holdLargeBody(context, largeBody) }),
        handler: async (request, reply) => {
          const { apiHandlers } = await import("./api-handlers.ts");
          // The keys are those of both tables.
          return apiHandlers[id as keyof ApiHandlers](context, request, reply);
        },
      });
    }
  });
  await app.register(async (scope) => {
    scope.setErrorHandler(sendE2bError);
    takeAnyBody(scope);
    for (const operation of rpcOperations) {
      scope.route({
        ...routeOf(operation, { isInSandbox: true }),
        handler: async (request, reply) => {
          const { answerRpc } = await import("./rpc.ts");
          return answerRpc(context, request, reply);
        },
      });
    }
    scope.route({
      ...routeOf(archiveOperations.uploadArchive, { isInSandbox: true }),
      handler: async (request, reply) => {
        const { uploadArchive } = await import("./template-build-handlers.ts");
        return uploadArchive(context, request, reply);
      },
    });
    for (const [id, operation] of Object.entries(sandboxCallOperations)) {
      scope.route({
        ...routeOf(operation, { isInSandbox: true }),
        handler: async (request, reply) => {
          const { sandboxCallHandlers } = await import("./sandbox-call-handlers.ts");
          return sandboxCallHandlers[id as keyof SandboxCallHandlers](context, request, reply);
        },
      });
    }
  });
  await app.register(async (scope) => {
    scope.setErrorHandler(sendE2bError);
    scope.route({
      ...routeOf(apiHealth, { isInSandbox: false }),
      handler: (_request, reply) => reply.code(204).send(null),
    });
  });
  await app.register(async (scope) => refuseOtherPaths(scope));
}

/** What has no counterpart here, by the first part of its path. */
const MISSING =
  /^\/e2b\/(?:v\d\/)?(volumes|volumecontent|secrets|webhooks|events|templates|nodes|admin|api-keys|access-tokens|teams)(?:[/?]|$)/;

/** With E2B too no token of a client is good for it. */
const INITIALISATION = /^\/e2b\/sandbox\/init(?:\?|$)/;

function refuseOtherPaths(scope: FastifyInstance): void {
  scope.setErrorHandler(sendE2bError);
  takeAnyBody(scope);
  scope.route({
    method: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    url: "/e2b/*",
    schema: { hide: true },
    config: { skerry: "refusal", takesEncodedBodies: true },
    handler: ({ url, method }) => {
      if (INITIALISATION.test(url))
        throw new SkerryError("unauthorized", "A sandbox is initialised by this server alone.");
      const [, what] = MISSING.exec(url) ?? [];
      if (what === undefined)
        throw new SkerryError("not_found", `There is no ${method} of this path of E2B's API here.`);
      throw new SkerryError(
        "not_implemented",
        `E2B's "${what}" are not there: this server has no counterpart of them yet.`,
      );
    },
  });
}

function routeOf(operation: Operation, { isInSandbox }: { readonly isInSandbox: boolean }) {
  return {
    method: operation.method === "ANY" ? ("GET" as const) : operation.method,
    url: operation.path,
    exposeHeadRoute: false,
    schema: { hide: true },
    config: { skerry: operation, takesEncodedBodies: isInSandbox },
  };
}

/** Handlers read the stream themselves. */
function takeAnyBody(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _body, done) => done(null));
}
