// A call of E2B's clients into a sandbox.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../caller.ts";
import { SkerryError } from "@skerry/contract/errors";
import { callerOf } from "../api/authenticate-hook.ts";
import { requestSignal } from "../api/request-signal.ts";
import { sandboxVms } from "../sandboxes/sandbox-vms.ts";
import type { VmKind } from "../vms/vm-kind.ts";
import { sandboxIdOf } from "./credentials.ts";

/** A call into a sandbox: whose it is, and when it should stop. */
export interface SandboxCall {
  readonly caller: Caller;
  readonly kind: VmKind;
  readonly id: string;
  readonly gone: AbortSignal;
}

export function sandboxCallOf(request: FastifyRequest, reply: FastifyReply): SandboxCall {
  const id = sandboxIdOf(request);
  if (id === undefined)
    throw new SkerryError("bad_request", "The request names no sandbox.", {
      remediation: "Its id goes into the header `E2b-Sandbox-Id`.",
    });
  return { caller: callerOf(request), kind: sandboxVms, id, gone: requestSignal(reply) };
}
