// Names of ports of sandboxes that E2B's clients made: without a token all ports are open, or need the sandbox's traffic access token, and
// what goes wrong is told in the words of E2B's own proxy, which programs compare.

import type { FastifyRequest } from "fastify";
import { bareId } from "@skerry/contract/ids";
import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { Visitor } from "../../api/operation.ts";
import type { Context } from "../../context.ts";
import { escapeHtml } from "../../http/escape-html.ts";
import { shapeErrors, type ShapedError } from "../../http/error-shape.ts";
import { isPublicPort } from "../public-ports.ts";
import { bringsTrafficToken, TRAFFIC_HEADER } from "./traffic-token.ts";

/** A sandbox, as far as its ports are concerned. */
interface Owner {
  readonly org_id: string;
  readonly status: string;
  readonly public_ports: readonly number[];
}

interface Asked {
  readonly id: string;
  readonly port: number;
  /** Undefined where there is none of this id. */
  readonly owner: Owner | undefined;
  /** The same as it is by then. */
  readonly again: () => Promise<Owner | undefined>;
}

/** Throws where the port needs a token that the request does not bring, which says nothing of whether there is such a sandbox; and then, where
 *  there is none any more. */
export async function admitE2bClient(
  context: Context,
  request: FastifyRequest,
  asked: Asked,
): Promise<Visitor> {
  const isBrowser = /\b(?:Mozilla|Chrome|Safari|Opera)\//.test(request.headers["user-agent"] ?? "");
  shapeErrors(request, (error) => told(error, asked, isBrowser));
  const hasToken = await bringsTrafficToken(context, request, asked.id);
  const check = (now: Owner | undefined) => {
    if (hasToken !== true && (now === undefined || !isPublicPort(now.public_ports, asked.port)))
      throw refused(hasToken);
    if (now === undefined || over.has(now.status))
      throw new SkerryError("sandbox_not_found", "The sandbox was not found");
    return now.org_id;
  };
  return { orgId: check(asked.owner), check: async () => check(await asked.again()) };
}

const over: ReadonlySet<string> = new Set(["failed", "destroying", "destroyed"]);

/** `isRight`: undefined where there is none. */
function refused(isRight: boolean | undefined): SkerryError {
  const fault = isRight === undefined ? "missing" : "invalid";
  return new SkerryError(
    "forbidden",
    `Sandbox is secured with traffic access token. Token header '${TRAFFIC_HEADER}' is ${fault}`,
  );
}

const away: ReadonlySet<ErrorCode> = new Set([
  "sandbox_not_found",
  "sandbox_not_running",
  "sandbox_expired",
  "host_unavailable",
  "host_draining",
]);

const BAD_GATEWAY = 502;

interface Told {
  readonly status: number;
  readonly title: string;
  readonly message: string;
  readonly port?: number;
}

function told(error: SkerryError, { id, port }: Pick<Asked, "id" | "port">, isBrowser: boolean): ShapedError {
  const { status, title, ...facts } = tellable(error, port);
  if (isBrowser) return { status, type: "text/html; charset=utf-8", body: pageOf(title, facts.message) };
  const body = JSON.stringify({ sandboxId: bareId(id), ...facts, code: status });
  return { status, type: "application/json; charset=utf-8", body };
}

function tellable({ code, status, message }: SkerryError, port: number): Told {
  if (code === "port_not_listening")
    return {
      ...{ status: BAD_GATEWAY, title: "Closed Port Error", port },
      message: "The sandbox is running but port is not open",
    };
  if (away.has(code))
    return { status: BAD_GATEWAY, title: "Sandbox Not Found", message: "The sandbox was not found" };
  return { status, title: "Error", message };
}

function pageOf(title: string, message: string): string {
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><h1>${title}</h1><p>${escapeHtml(message)}</p></body></html>\n`;
}
