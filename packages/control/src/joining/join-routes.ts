// Machines that become hosts.

import type { FastifyRequest } from "fastify";
import { HostJoined, JoinAnswer, JoinConfirmation, JoinRequest, JoinToken } from "@skerry/contract/joining";
import type { Context } from "../context.ts";
import { AuthFailures } from "../rate-limits/auth-failures.ts";
import { confirmHost, joinHost, joinTokenCreation } from "./join-service.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { emptyBodyIsObject } from "../http/json-bodies.ts";
import { created } from "../api/idempotent-create.ts";
import { countingFailures } from "../api/rate-limit-hook.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";

export function joiningRoutes(context: Context): Routes {
  return (app, _options, done) => {
    const attempts = new AuthFailures(context.limits.authFailuresPerMinute);
    /** Public, so what proves nothing is limited like tokens that are none. */
    const guarded = <T>(request: FastifyRequest, proof: string, work: () => Promise<T>): Promise<T> =>
      countingFailures(attempts, { address: request.ip, secretSha256: proof }, work);
    app.post(
      "/v1/hosts/join-tokens",
      {
        preValidation: emptyBodyIsObject,
        schema: {
          operationId: "createJoinToken",
          tags: ["hosts"],
          summary:
            "A token by which one machine becomes a host within the next hour; it is in this answer and nowhere else",
          response: { 201: ref(JoinToken) },
        },
      },
      async (request, reply) =>
        reply
          .code(201)
          .send(await created(context, { request, reply }, joinTokenCreation(context, callerOf(request)))),
    );
    app.post(
      "/v1/hosts/join",
      {
        schema: {
          operationId: "joinHost",
          tags: ["hosts"],
          summary: "Certify a machine as a host; `skerry host join` calls it",
          description:
            "Needs no API token: the request proves that its sender has a join token, without sending it. The same machine may ask again.",
          body: ref(JoinRequest),
          response: { 200: ref(JoinAnswer) },
        },
      },
      (request) => guarded(request, request.body.proof, () => joinHost(context, request.body)),
    );
    app.post(
      "/v1/hosts/join/confirm",
      {
        schema: {
          operationId: "confirmHost",
          tags: ["hosts"],
          summary:
            "Have control call a host that has just been certified; the answer says why where that fails",
          body: ref(JoinConfirmation),
          response: { 200: ref(HostJoined) },
        },
      },
      (request) => guarded(request, request.body.proof, () => confirmHost(context, request.body)),
    );
    done();
  };
}
