// How a machine becomes a host: an operator mints a token, the machine asks to be certified with it and starts to listen, and control
// calls it back once before it reports that the machine has joined.

import { randomBytes, timingSafeEqual } from "node:crypto";
import { SkerryError } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import {
  confirmationProof,
  joinProof,
  type HostJoined,
  type JoinAnswer,
  type JoinConfirmation,
  type JoinRequest,
} from "@skerry/contract/joining/join-request";
import {
  fingerprintOf,
  joinTokenText,
  secretDigest,
  type JoinToken,
} from "@skerry/contract/joining/join-token";
import { securedAddress } from "../host-client/host-directory.ts";
import { unreachableBecause } from "../host-client/host-errors.ts";
import type { Queries } from "../db/database.ts";
import { insertJoinToken, lockJoinToken, useJoinToken, type JoinTokenRow } from "./join-store.ts";
import {
  findHostByKey,
  findJoinedHost,
  writeJoiningHost,
  recordHostCertificate,
} from "../hosts/joined-hosts.ts";
import { recordHeartbeats } from "../hosts/record-heartbeats.ts";
import { recordOwnActs } from "../audit/audit-log.ts";
import { HOST_LIFETIME_MS } from "./certificate-authority.ts";
import { keyDigest } from "@skerry/contract/certificates/x509";
import { requestedKey } from "./x509.ts";
import type { SealedFor } from "../sealing/sealed-value.ts";
import { CLUSTER } from "../sealing/sealing.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Attempt, Creation } from "../idempotency/create-once.ts";

const TOKEN_LIFETIME_MS = 3_600_000;
const SECRET_BYTES = 32;

export function joinTokenCreation(context: Context, caller: Caller): Creation<JoinToken> {
  return { create: (attempt) => createJoinToken(context, caller, attempt) };
}

async function createJoinToken(context: Context, caller: Caller, attempt: Attempt): Promise<JoinToken> {
  const { number: authority, certificate } = await context.authority.current();
  const fingerprint = fingerprintOf(certificate);
  const id = newId("join");
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  const owner = { org_id: caller.orgId, created_by: caller.userId };
  const sealed_digest = await context.sealing.seal(
    context.db,
    aboutDigest(id),
    secretDigest(secret).toString("base64"),
  );
  const row = { id, sealed_digest, authority, ...owner };
  return context.db.transaction().execute(async (transaction) => {
    const expiresAt = await insertJoinToken(transaction, row, TOKEN_LIFETIME_MS);
    const token = joinTokenText({ id, secret, fingerprint });
    const created = { id, token, expires_at: expiresAt.toISOString() };
    await attempt.done(transaction, created);
    return created;
  });
}

/** Certifies a machine as a host. The same machine may ask again with the same token; no other machine may. */
export function joinHost(context: Context, request: JoinRequest): Promise<JoinAnswer> {
  return context.db.transaction().execute(async (transaction) => {
    const token = await provenToken(context, transaction, {
      ...{ id: request.token_id, proof: request.proof },
      expected: (digest) => joinProof(digest, request),
    });
    const publicKey = requestedKey(request);
    const keySha256 = keyDigest(publicKey);
    const known = await findHostByKey(transaction, keySha256);
    if (token.host_id !== null && token.host_id !== known) throw usedToken();
    const id = known ?? newId("host");
    const { name, address: endpoint } = request;
    const address = securedAddress(id, checkedEndpoint(endpoint));
    if (!(await writeJoiningHost(transaction, { id, name, address }))) throw nameTaken(name);
    await useJoinToken(transaction, request.token_id, id);
    const { certificate, certification } = await context.authority.certifyJoining(transaction, id, publicKey);
    if (token.authority !== null && token.authority !== certification.certifiedBy) throw otherAuthority();
    await recordHostCertificate(transaction, id, {
      keySha256,
      lifetimeMs: HOST_LIFETIME_MS,
      ...certification,
    });
    const act = { service: "host-join", action: "host.join", resource: "host" } as const;
    await recordOwnActs(transaction, act, [{ id, org_id: token.org_id }]);
    return certificate;
  });
}

/** Calls the host back at its address, and says why where that fails. */
export async function confirmHost(context: Context, request: JoinConfirmation): Promise<HostJoined> {
  const { host_id: id } = request;
  const host = await context.db.transaction().execute(async (transaction) => {
    const token = await provenToken(context, transaction, {
      ...{ id: request.token_id, proof: request.proof },
      expected: (digest) => confirmationProof(digest, request),
    });
    if (token.host_id !== id) throw usedToken();
    return findJoinedHost(transaction, id);
  });
  if (host === undefined) throw new SkerryError("host_not_found", "The host has been removed.");
  // Connections to the host that had the address before are not used for it.
  await context.hosts.forget(host.address);
  const info = await context.hosts
    .client(host.address)
    .info()
    .catch((error: unknown) => {
      throw unreachableBecause(error, host.address);
    });
  await recordHeartbeats(context.db, [{ id, info }]);
  // From here on the host beside control may have to hand VMs to another one.
  context.wake("host-certificates");
  context.log.info({ host_id: id, name: host.name, address: host.address }, "a host has joined");
  return { host_id: id, name: host.name };
}

interface Proven {
  readonly id: string;
  readonly proof: string;
  readonly expected: (digest: Buffer) => string;
}

async function provenToken(
  { sealing }: Pick<Context, "sealing">,
  transaction: Queries,
  { id, proof, expected }: Proven,
): Promise<JoinTokenRow> {
  const token = await lockJoinToken(transaction, id);
  const digest =
    token === undefined ? undefined : await sealing.open(transaction, aboutDigest(id), token.sealed_digest);
  if (
    token === undefined ||
    digest === undefined ||
    !isEqual(expected(Buffer.from(digest, "base64")), proof)
  ) {
    throw new SkerryError(
      "unauthorized",
      "There is no such join token, or the request is not by its holder.",
      {
        remediation: "`skerry host token` on a machine of the operator makes a token.",
      },
    );
  }
  if (token.expired) {
    throw new SkerryError("unauthorized", "The join token has expired.", {
      remediation: "Make another one with `skerry host token`.",
    });
  }
  return token;
}

/** Sealed, because proofs are made with it: a reader of the database would join a machine of theirs. */
function aboutDigest(id: string): SealedFor {
  return { owner: CLUSTER, scope: "join-token", name: id, version: 1 };
}

function isEqual(expected: string, given: string): boolean {
  return expected.length === given.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given));
}

function checkedEndpoint(endpoint: string): string {
  if (URL.parse(`https://${endpoint}`)?.pathname === "/") return endpoint;
  throw new SkerryError("bad_request", "`address` is not an address and a port.", {
    remediation: "Use ADDRESS:PORT, for example 192.0.2.7:7071 or [2001:db8::7]:7071.",
    context: { field: "address" },
  });
}

/** The machine would refuse the answer: it looks for the authority that its token names. */
function otherAuthority(): SkerryError {
  return new SkerryError(
    "unauthorized",
    "The cluster's authority was changed after the join token was made.",
    {
      remediation: "Make another one with `skerry host token`.",
    },
  );
}

function usedToken(): SkerryError {
  return new SkerryError("join_token_used", "The join token has been used for another host.", {
    remediation: "A token is for one host. Make another one with `skerry host token`.",
  });
}

function nameTaken(name: string): SkerryError {
  return new SkerryError("host_name_taken", `There is a host called "${name}" already.`, {
    remediation: "Choose another name with --name, or remove that host if it is no more.",
    context: { name },
  });
}
