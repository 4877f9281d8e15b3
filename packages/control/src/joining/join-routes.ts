// Machines that become hosts.

import type { FastifyRequest } from "fastify";
import { callerOf } from "../api/authenticate-hook.ts";
import { countingFailures } from "../api/enforce-rate-limit.ts";
import { routes } from "../api/routes.ts";
import { AuthFailures } from "../rate-limits/auth-failures.ts";
import { describeAuthority, rotateAuthority } from "./rotate-authority.ts";
import { joinOperations } from "./join-operations.ts";
import { confirmHost, joinHost, joinTokenCreation } from "./join-host.ts";

export const joinRoutes = routes(joinOperations, (context) => {
  const attempts = new AuthFailures(context.limits.authFailuresPerMinute);
  /** Public, so what proves nothing is limited like tokens that are none. */
  const guarded = <T>({ ip }: FastifyRequest, proof: string, work: () => Promise<T>): Promise<T> =>
    countingFailures(attempts, { address: ip, proof }, work);
  return {
    createJoinToken: (request) => joinTokenCreation(context, callerOf(request)),
    getAuthority: () => describeAuthority(context),
    rotateAuthority: (request) => rotateAuthority(context, request.body),
    joinHost: (request) => guarded(request, request.body.proof, () => joinHost(context, request.body)),
    confirmHost: (request) => guarded(request, request.body.proof, () => confirmHost(context, request.body)),
  };
});
