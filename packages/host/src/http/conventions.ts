// What every route of the host API shares: the server's type, the parameter that names a VM, and how errors
// look.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { SkerryError } from "@skerry/contract/errors";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { Type } from "typebox";
import { ChannelClosed } from "../guest/channel.ts";
import { fullDiskError } from "../vm/lifecycle/end-of-full-disk.ts";
import { hostIsEnding } from "../vm/lifecycle/vm-table.ts";
import { NameProxyLost } from "../network/name-proxy.ts";
import { whereDiskIsFull } from "../vm/saved/save-guest.ts";
import { KvmInternalError } from "../guest/first-answer.ts";
import { QemuStartError } from "../vm/record/vm-resources.ts";

export type HostServer = FastifyInstance<
  Server,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

export const VmParams = Type.Object({ id: Type.String({ pattern: "^[a-z]{3}_[a-z0-9]{1,40}$" }) });

export function asSkerryError(error: Error & { statusCode?: number }): SkerryError {
  if (error instanceof SkerryError) return error;
  if (error instanceof ChannelClosed) {
    if (error.isLetGo) return hostIsEnding(error);
    const told = fullDiskError(error.message, error);
    if (told !== undefined) return told;
    return new SkerryError("guest_failed", `The microVM is gone: ${error.message}.`, { cause: error });
  }
  if (error instanceof KvmInternalError) {
    return new SkerryError("guest_failed", `The microVM is gone: ${error.message}.`, { cause: error });
  }
  if (error instanceof QemuStartError) {
    // A QEMU that is killed while it starts, as by a machine without memory, is no fault of this program.
    return new SkerryError("guest_failed", "The microVM did not start.", {
      remediation: "Try again; the host's log has the words of its QEMU.",
      cause: error,
    });
  }
  if (error instanceof NameProxyLost) {
    return new SkerryError("internal", "The host has no name proxy.", { cause: error });
  }
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return new SkerryError("bad_request", error.message, { cause: error });
  }
  return whereDiskIsFull(error) ?? new SkerryError("internal", "The host failed.", { cause: error });
}
