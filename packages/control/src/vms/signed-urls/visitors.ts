// Callers without a token: who has a signed URL, or comes to a port that is public.

import { sql } from "kysely";
import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { countedRequestOf, type CountedRequest } from "../../http/counted-request.ts";
import { visitOf } from "./visit-cookie.ts";
import { secretOf } from "../../api/authenticate-hook.ts";
import type { Visitor } from "../../api/operation.ts";
import { stateOf, type Context } from "../../context.ts";
import { BoundedMap } from "../../values/bounded-map.ts";
import { BatchLoader } from "../../db/batch-loader.ts";
import { isPublicPort } from "../public-ports.ts";
import { admitE2bClient } from "./e2b-visitors.ts";
import type { PortOptions } from "../../db/tables/sandbox-tables.ts";
import type { VmKind } from "../vm-kind.ts";
import { checkSignature, invalidSignature, splitSignature } from "./signature.ts";

interface Owned {
  readonly id: string;
  readonly org_id: string;
  readonly status: string;
  readonly public_ports: readonly number[];
  readonly port_options: PortOptions;
}

/** VMs of any organization: the request has no caller whose organization it could be. */
const owners = new BatchLoader<Owned>(async (db, ids) => {
  const { rows } = await sql<Owned>`
    select id, org_id, status, public_ports, port_options from vms where id = any(${[...ids]}::text[])`.execute(
    db,
  );
  return rows.map((row) => [row.id, row]);
});

export interface Wanted {
  readonly kind: Pick<VmKind, "table" | "isId">;
  readonly id: string;
  /** What a signature must be of. */
  readonly what: string;
  /** Undefined where it is none. */
  readonly port?: number;
}

/** Undefined where the request brings a token, or nothing that lets it in. Throws where its signature is not valid, and where `takeTicket` does. */
export async function admitVisitor(
  context: Context,
  request: FastifyRequest,
  { takeTicket, ...wanted }: Wanted & { readonly takeTicket: () => void },
): Promise<Visitor | undefined> {
  const { signature } = splitSignature(request.raw.url ?? "");
  const visit = countedRequestOf(request).portHost === undefined ? undefined : visitOf(request);
  // A token that is none of ours may belong to the program on the port, which gets it.
  const isByToken = wanted.port === undefined || secretOf(request) !== undefined;
  if (signature === undefined && visit === undefined && isByToken) return undefined;
  takeTicket();
  if (signature !== undefined) return admitSigned(context, wanted, signature);
  const visited = visit === undefined ? undefined : await admitVisit(context, wanted, visit);
  return visited ?? (isByToken ? undefined : admitWithout(context, request, wanted));
}

async function admitSigned(context: Context, wanted: Wanted, signature: string): Promise<Visitor> {
  const check = () => checkSigned(context, wanted, signature);
  return { orgId: await check(), check };
}

/** By the cookie of a visit. One that has expired lets nobody in, and stands in nobody's way. */
function admitVisit(context: Context, wanted: Wanted, visit: string): Promise<Visitor | undefined> {
  return admitSigned(context, wanted, visit).catch(unlessRefused);
}

/** To a port that is public, or of a sandbox of E2B's clients, whose ports have a token of their own. */
async function admitWithout(
  context: Context,
  request: FastifyRequest,
  { port, ...wanted }: Wanted,
): Promise<Visitor | undefined> {
  if (port === undefined) return undefined;
  const again = () => ownerOf(context, wanted);
  const owner = await again();
  // Such a client shows the sandbox's token, or none where its ports are public. How the port is named decides in which words it is
  // refused, and not what there is.
  if (context.e2b && isNamedAsE2b(countedRequestOf(request)))
    return admitE2bClient(context, request, { id: wanted.id, port, owner, again });
  const publicOwner = (found: Owned | undefined) =>
    found !== undefined && isPublicPort(found.public_ports, port) && found.status !== "destroyed"
      ? found.org_id
      : undefined;
  const check = async () => {
    const found = publicOwner(await again());
    if (found !== undefined) return found;
    throw new SkerryError("unauthorized", "The port is not public any more.");
  };
  const orgId = publicOwner(owner);
  return orgId === undefined ? undefined : { orgId, check };
}

/** By a header, or by a name that has no kind in it. */
function isNamedAsE2b({ isLedByHeader, portHost }: CountedRequest): boolean {
  return isLedByHeader || (portHost !== undefined && !/^\d+-[a-z]{3}[-_]/.test(portHost));
}

function unlessRefused(error: unknown): undefined {
  if (error instanceof SkerryError && error.status < 500) return undefined;
  throw error;
}

async function checkSigned(context: Context, wanted: Wanted, signature: string): Promise<string> {
  const owner = await ownerOf(context, wanted);
  const keys = await context.signing.keys();
  // Of what does not exist the answer is the same as of what the signature is not for.
  if (owner === undefined) throw invalidSignature();
  checkSignature(keys, { orgId: owner.org_id, vmId: owner.id, what: wanted.what }, signature, Date.now());
  return owner.org_id;
}

const OPTIONS_KEPT = 10_000;
/** They are written just after the start of a sandbox, before it is told to its client, and not changed. */
const NONE_FOR_MS = 5_000;
interface KnownOptions {
  readonly options: PortOptions;
  readonly untilMs: number;
}
const knownOptionsOf = stateOf(() => new BoundedMap<string, KnownOptions>(OPTIONS_KEPT));

/** How the ports of one are served. */
export async function portOptionsOf(
  context: Context,
  wanted: Pick<Wanted, "kind" | "id">,
): Promise<PortOptions> {
  if (wanted.kind.table === "machines") return {};
  const knownOptions = knownOptionsOf(context);
  const known = knownOptions.get(wanted.id);
  if (known !== undefined && known.untilMs > performance.now()) return known.options;
  const options = (await ownerOf(context, wanted))?.port_options;
  if (options === undefined) return {};
  const forMs = options.e2b === true ? Infinity : NONE_FOR_MS;
  knownOptions.set(wanted.id, { options, untilMs: performance.now() + forMs });
  return options;
}

async function ownerOf(
  { db }: Context,
  { kind, id }: Pick<Wanted, "kind" | "id">,
): Promise<Owned | undefined> {
  return kind.isId(id) ? owners.find(db, id) : undefined;
}
