// Makes routes of what the rooms declare.

import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteOptions } from "fastify";
import type { Context } from "../context.ts";
import { takeOctetStreamBodies } from "../http/octet-stream-bodies.ts";
import { countedRequestOf } from "../http/counted-request.ts";
import { emptyBodyIsObject, takeRawField } from "../http/json-bodies.ts";
import { referTo } from "../http/schemas.ts";
import type { Creation } from "../idempotency/create-once.ts";
import { callerOf, knownCallerOf } from "./authenticate-hook.ts";
import { holdLargeBody } from "./large-bodies.ts";
import { createIdempotently } from "./create-idempotently.ts";
import { isDocumented, type Operation } from "./operation.ts";
import type { Routes } from "./routes.ts";

/** Largest JSON body. The largest that can be right, a full environment, is far below. */
const JSON_BODY_MAX_BYTES = 1024 * 1024;

/** Has a route that no operation declares keep the server from starting. Call it before the routes are registered. */
export function requireDeclarations(app: FastifyInstance): void {
  app.addHook("onRoute", ({ config, method, url }) => {
    if (config?.skerry === undefined) {
      throw new Error(`${String(method)} ${url}: no operation declares this route`);
    }
  });
}

export function registerRoutes(app: FastifyInstance, context: Context, group: Routes): void {
  const handlers = group.handlers(context);
  for (const [id, operation] of Object.entries(group.operations)) {
    // `routes` has held each handler against its operation, whose schemas the request is then checked by.
    const handle = handlers[id] as Handle;
    const route = {
      ...routeOf(id, operation),
      ...bodyLimitOf(context, operation),
      ...findingIds(context, operation),
      handler: sending(context, operation, handle),
    };
    const { rawField } = operation;
    if (rawField !== undefined)
      void app.register(async (scope) => {
        takeRawField(scope, rawField);
        scope.route(route);
      });
    else if (operation.body !== "bytes" && operation.answersBytes !== true) app.route(route);
    else {
      // In a scope of its own: the parsers of bodies are changed there.
      void app.register(async (scope) => {
        takeOctetStreamBodies(scope);
        scope.route(route);
        if (operation.method === "ANY")
          scope.route({ ...route, method: otherMethods, schema: { ...route.schema, hide: true } });
      });
    }
  }
}

/** Those that an operation of every method is not documented under. */
const otherMethods: HTTPMethods[] = ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

type Handle = (request: FastifyRequest, reply: FastifyReply) => unknown;

function routeOf(id: string, operation: Operation): Omit<RouteOptions, "handler"> {
  const { method, path, tag, summary, description, params, query, body, answers } = operation;
  return {
    method: method === "ANY" ? "GET" : method,
    url: path,
    // HEAD would have a host read a file, or follow a log, for nothing.
    ...((method === "GET" || method === "ANY") && { exposeHeadRoute: !answersStream(operation) }),
    ...(operation.isBodyOptional === true && { preValidation: emptyBodyIsObject }),
    config: { skerry: operation, ...(method === "ANY" && { takesEncodedBodies: true }) },
    schema: {
      operationId: id,
      tags: [tag],
      summary,
      hide: !isDocumented[operation.surface],
      ...(description !== undefined && { description }),
      ...(params !== undefined && { params }),
      ...(query !== undefined && { querystring: query }),
      ...(body !== undefined && body !== "bytes" && { body: referTo(body) }),
      response: Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [status, referTo(answer)]),
      ),
    },
  };
}

/** Where no token is needed, the server's own limit holds. */
function bodyLimitOf(
  context: Context,
  { access, largeBody }: Operation,
): Pick<RouteOptions, "bodyLimit" | "preParsing"> {
  if (largeBody !== undefined)
    return { bodyLimit: largeBody.maxBytes, preParsing: holdLargeBody(context, largeBody) };
  return access === "public" ? {} : { bodyLimit: JSON_BODY_MAX_BYTES };
}

/** Puts the id in the place of a name. After the caller was let in, so that no other caller learns whether there is such a name. */
function findingIds(context: Context, { idOf }: Operation): Pick<RouteOptions, "preHandler"> {
  if (idOf === undefined) return {};
  return {
    preHandler: async (request) => {
      const params = request.params as { id: string };
      // Who has no token names ids: names are an organization's.
      if (knownCallerOf(request) === undefined) return;
      const id = await idOf(context, callerOf(request), params.id);
      if (id !== params.id) countedRequestOf(request).resourceId = id;
      params.id = id;
    },
  };
}

/** What it answers can be as long as it likes. */
export function answersStream({ events, answersBytes, streams }: Operation): boolean {
  return events !== undefined || answersBytes === true || streams === true;
}

/** The handler, and what its operation's status asks for. */
function sending(context: Context, { answers }: Operation, handle: Handle): Handle {
  if (answers[201] !== undefined) {
    return async (request, reply) => {
      // The type of a handler whose operation answers 201.
      const creation = handle(request, reply) as Creation<unknown>;
      return reply.code(201).send(await createIdempotently(context, { request, reply }, creation));
    };
  }
  if (answers[204] !== undefined) {
    return async (request, reply) => {
      await handle(request, reply);
      return reply.code(204).send(null);
    };
  }
  return handle;
}
