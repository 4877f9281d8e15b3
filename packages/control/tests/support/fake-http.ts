// How fake hosts read calls and answer them.

import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { SkerryError } from "@skerry/contract/errors";
import { COMMAND_WITH_INPUT, type ExecuteCommand } from "@skerry/contract/host-api/vm";
import { readFirstLine } from "../../../host/src/http/first-line.ts";

/** A call about the VM `id`, which is empty where it is about none; `what` is its method and the last part of
 *  its path, `vm` for a VM as a whole. */
export interface HostCall {
  readonly id: string;
  readonly what: string;
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export function readCall(request: IncomingMessage, response: ServerResponse): HostCall {
  const url = new URL(request.url ?? "", "http://host");
  const [, , id = "", part] = url.pathname.split("/");
  return { id, what: `${request.method} ${part ?? (id === "" ? "/vms" : "vm")}`, url, request, response };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export const readBody = async <T>(request: IncomingMessage): Promise<T> => (await json(request)) as T;

/** The command alone. What it reads is left in the request; a host of an earlier version does not know such requests. */
export async function readCommand(request: IncomingMessage, passesInput: boolean): Promise<ExecuteCommand> {
  if (request.headers["content-type"] !== COMMAND_WITH_INPUT) return readBody<ExecuteCommand>(request);
  if (!passesInput) throw new SkerryError("bad_request", "Unsupported Media Type");
  return JSON.parse(await readFirstLine(request)) as ExecuteCommand;
}
