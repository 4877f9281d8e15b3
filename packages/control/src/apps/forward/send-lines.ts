// Sends lines to a receiver, for an organization or for the operator.

import { readFileSync } from "node:fs";
import { sql } from "kysely";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { SkerryError } from "@skerry/contract/errors";
import { stateOf, type Context } from "../../context.ts";
import type { Queries } from "../../db/database.ts";
import { ofOrganization, openSecrets } from "../../secrets/secrets.ts";
import type { ForwardedLine } from "./forwarded-line.ts";
import { PLATFORM, type ForwardJob } from "./log-forward-store.ts";
import { readReceiver, type LogReceiver } from "./log-receiver.ts";
import { sendOtlp } from "./otlp.ts";
import {
  addressesOfMachine,
  anyAddress,
  ForwardFault,
  reachableAddress,
  type Address,
} from "./reachable-address.ts";
import { sendSyslog } from "./syslog.ts";

/** Time from the first step to the receiver's word for it. */
const SEND_MS = 10_000;

/**
 * Authorities of the machine, of Node and of the operator. One context for all: a new one reads them all
 * anew.
 */
const secureContextOf = stateOf<SecureContext>(({ logs: { caFile } }) => {
  const own = caFile === undefined ? [] : [readFileSync(caFile, "utf8")];
  return createSecureContext({
    ca: [...getCACertificates("default"), ...getCACertificates("system"), ...own],
  });
});

/** Throws `ForwardFault` where the receiver has not taken them all. */
export async function sendLines(
  context: Context,
  job: ForwardJob,
  { lines, stop }: { readonly lines: readonly ForwardedLine[]; readonly stop: AbortSignal },
): Promise<void> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(SEND_MS)]);
  const receiver = readReceiver(job.target.url);
  if (typeof receiver === "string") throw new ForwardFault(`Its address ${receiver}.`);
  try {
    const address = await addressOf(context, job, { receiver, signal });
    const secureContext = secureContextOf(context);
    if (receiver.kind === "syslog") await sendSyslog(receiver, { lines, address, secureContext, signal });
    else {
      const header = await headerOf(context, job);
      await sendOtlp(receiver, { lines, address, secureContext, header, signal });
    }
  } catch (error) {
    throw asFault(error, signal);
  }
}

async function addressOf(
  { db, logs }: Context,
  { id }: ForwardJob,
  { receiver: { host }, signal }: { readonly receiver: LogReceiver; readonly signal: AbortSignal },
): Promise<Address> {
  if (id === PLATFORM) return anyAddress(host);
  const own = new Set([...addressesOfMachine(), ...(await addressesOfHosts(db))]);
  return reachableAddress(host, { ...logs, own }, signal);
}

/** Without ports. */
async function addressesOfHosts(db: Queries): Promise<string[]> {
  const { rows } = await sql<{ address: string | null }>`
    select unnest(array[address, facts ->> 'endpoint', facts ->> 'edge_door']) as address
    from hosts where removed_at is null`.execute(db);
  return rows.flatMap(({ address }) => address?.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1") ?? []);
}

const HEADER_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]{1,8192}$/;

async function headerOf(
  context: Context,
  { org_id: orgId, target: { header_name: name, header_secret: secret } }: ForwardJob,
): Promise<readonly [string, string] | undefined> {
  if (name === null || secret === null) return undefined;
  const found = await openSecrets(context, [ofOrganization({ orgId })], [secret]);
  const value = found.get(secret)?.value.trim();
  if (value === undefined) throw new ForwardFault(`There is no secret ${secret} any more.`);
  if (!HEADER_VALUE.test(value)) throw new ForwardFault(`The secret ${secret} is no value of a header.`);
  return [name, value];
}

/** Words of libraries may name addresses, so their codes alone are told. */
function asFault(error: unknown, signal: AbortSignal): Error {
  if (error instanceof ForwardFault) return error;
  if (signal.aborted) return new ForwardFault("It does not answer in time.", { cause: error });
  if (error instanceof SkerryError) return new ForwardFault(error.message, { cause: error });
  const code = (error as { readonly code?: unknown }).code;
  if (typeof code !== "string" || !/^[A-Z0-9_]{2,60}$/.test(code)) return error as Error;
  if (code === "ECONNREFUSED") return new ForwardFault("It refuses connections.", { cause: error });
  if (code === "ECONNRESET" || code === "EPIPE")
    return new ForwardFault("It breaks off the connection.", { cause: error });
  const isTls = /CERT|TLS|SSL|SIGNATURE|ISSUER/.test(code);
  return new ForwardFault(
    isTls ? `Its certificate or its TLS does not hold (${code}).` : `It cannot be reached (${code}).`,
    {
      cause: error,
    },
  );
}
