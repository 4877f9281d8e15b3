import { Type } from "typebox";
import {
  KeepaliveRequest,
  Sandbox,
  SandboxCreateRequest,
  SandboxList,
  SandboxListQuery,
} from "@skerry/contract/sandboxes";
import type { Context } from "../context.ts";
import { sandboxCreation } from "./sandbox-create.ts";
import { destroySandbox } from "./sandbox-destroy.ts";
import { getSandbox, keepAlive, listSandboxesOf, sandboxOf } from "./sandbox-service.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { emptyBodyIsObject } from "../http/json-bodies.ts";
import { created } from "../api/idempotent-create.ts";
import { withLabels } from "../http/metadata-filter.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";
import { vmParams } from "../vms/vm-resource.ts";

const SandboxParams = vmParams("sandbox");

export function sandboxRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.post(
      "/v1/sandboxes",
      {
        schema: {
          operationId: "createSandbox",
          tags: ["sandboxes"],
          summary: "Create a sandbox; it is usable when the answer comes",
          body: ref(SandboxCreateRequest),
          response: { 201: ref(Sandbox) },
        },
      },
      // A client that goes away stops nothing: the row is a wish, and is carried out.
      async (request, reply) =>
        reply
          .code(201)
          .send(
            await created(
              context,
              { request, reply },
              sandboxCreation(context, callerOf(request), request.body),
            ),
          ),
    );
    app.get(
      "/v1/sandboxes",
      {
        schema: {
          operationId: "listSandboxes",
          tags: ["sandboxes"],
          summary: "The sandboxes of the organization, newest first; `metadata.KEY=VALUE` filters by a label",
          querystring: SandboxListQuery,
          response: { 200: ref(SandboxList) },
        },
      },
      (request) => listSandboxesOf(context, callerOf(request), withLabels(request.query)),
    );
    app.get(
      "/v1/sandboxes/:id",
      {
        schema: {
          operationId: "getSandbox",
          tags: ["sandboxes"],
          summary: "One sandbox",
          params: SandboxParams,
          response: { 200: ref(Sandbox) },
        },
      },
      async (request) => sandboxOf(await getSandbox(context, callerOf(request), request.params.id)),
    );
    done();
  };
}

/** How long a sandbox lives. */
export function sandboxLifetimeRoutes(context: Context): Routes {
  return (app, _options, done) => {
    app.delete(
      "/v1/sandboxes/:id",
      {
        schema: {
          operationId: "destroySandbox",
          tags: ["sandboxes"],
          summary: "Destroy a sandbox, whatever its status; a second time does nothing",
          params: SandboxParams,
          response: { 204: Type.Null({ description: "It is destroyed." }) },
        },
      },
      async (request, reply) => {
        await destroySandbox(context, callerOf(request), request.params.id);
        return reply.code(204).send(null);
      },
    );
    app.post(
      "/v1/sandboxes/:id/keepalive",
      {
        preValidation: emptyBodyIsObject,
        schema: {
          operationId: "keepSandboxAlive",
          tags: ["sandboxes"],
          summary: "Push the expiry of a sandbox back, never forward",
          params: SandboxParams,
          body: ref(KeepaliveRequest),
          response: { 200: ref(Sandbox) },
        },
      },
      (request) =>
        keepAlive(context, callerOf(request), { id: request.params.id, timeout: request.body.timeout }),
    );
    done();
  };
}
