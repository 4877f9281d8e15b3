// Receivers of logs as callers ask for them.

import { isIP } from "node:net";
import type { LogForward, LogForwardWish } from "@skerry/contract/apps/log-forward";
import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { ofOrganization, requireSecrets, requireToRead } from "../../secrets/secrets.ts";
import type { ForwardRow, ForwardTarget } from "./log-forward-store.ts";
import { readReceiver, type LogReceiver } from "./log-receiver.ts";
import { addressesOfMachine, whyClosed } from "./reachable-address.ts";

/** Headers that say how a request is framed, or where it goes. */
const HEADERS_OF_HTTP: ReadonlySet<string> = new Set([
  ...["host", "content-length", "content-type", "content-encoding", "connection", "expect", "te"],
  ...["transfer-encoding", "trailer", "upgrade", "keep-alive", "proxy-connection"],
]);

/** Throws where it cannot be a receiver of an organization, or its secret is none of the caller's. */
export async function checkedForward(
  context: Context,
  caller: Caller,
  { url, header }: LogForwardWish,
): Promise<ForwardTarget> {
  const receiver = readReceiver(url);
  if (typeof receiver === "string") throw badField("url", `"url" ${receiver}.`);
  const why = whyNot(context, receiver);
  if (why !== undefined) throw badField("url", `"url" ${why}.`);
  if (header === undefined) return { url, header_name: null, header_secret: null };
  if (receiver.kind !== "otlp") throw badField("header", "Syslog has no headers.");
  if (HEADERS_OF_HTTP.has(header.name.toLowerCase()))
    throw badField("header.name", `"${header.name}" is a header of HTTP itself.`);
  requireToRead(caller);
  await requireSecrets(context, [ofOrganization(caller)], [header.secret]);
  return { url, header_name: header.name, header_secret: header.secret };
}

/** A name is resolved, and its addresses are checked, whenever lines are sent. */
function whyNot({ logs }: Context, { host, isTls }: LogReceiver): string | undefined {
  if (!isTls) return "has no TLS";
  if (isIP(host) === 0) return undefined;
  return whyClosed(host, { ...logs, own: new Set(addressesOfMachine()) });
}

function badField(field: string, message: string): SkerryError {
  return new SkerryError("bad_request", message, {
    remediation:
      "Give https://HOST/v1/logs or syslog+tls://HOST:6514 with a name or an address that is on the Internet.",
    context: { field: `log_forward.${field}` },
  });
}

export function shownForward(row: ForwardRow | undefined): LogForward | null {
  if (row === undefined) return null;
  const { url, header_name: name, header_secret: secret, created_at, fault, fault_since } = row;
  return {
    url,
    header: name === null || secret === null ? null : { name, secret },
    since: created_at.toISOString(),
    fault:
      fault === null || fault_since === null ? null : { message: fault, since: fault_since.toISOString() },
  };
}
