// The change of the cluster's authority for another one, while control and hosts go on.
//
//   announcing    the next authority exists. Each host is told to trust it, with a certificate by the one that signs.
//   renewing      the next one signs, the one before is trusted. Each host gets a certificate by the new one.
//   withdrawing   the one before and its key are deleted. Each host is told to trust it no more.
//
// Each step ends when no host needs the one before it: then control and any two hosts trust each other, renewed or not. The rows of authorities
// and hosts alone say how far it is, and a step is one transaction, so after the death of any process the next activation of
// `host-certificates` goes on. A host whose certificate has ended is waited for no more; so without its host a change takes a week at most.

import type { AuditAction } from "@skerry/contract/audit/audit-actions";
import { SkerryError } from "@skerry/contract/errors";
import type { Authority, AuthorityRotateRequest, RotationStep } from "@skerry/contract/joining/authority";
import { fingerprintOf } from "@skerry/contract/joining/join-token";
import { recordOwnActs } from "../audit/audit-log.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { operatorOrganization } from "../organizations/operator-organization.ts";
import { makeAuthorityRow } from "./authority-key.ts";
import { numbersOf } from "./certificate-authority.ts";
import {
  addCertificateAuthority,
  findCertificateAuthorities,
  hostsBehind,
  hostsTrustingMore,
  leaveOffline,
  promoteAuthority,
  removeAuthority,
  type CertificateAuthorityRow,
  type BehindHost,
  type Certification,
} from "./certificate-authority-store.ts";

interface Rotation {
  readonly step: RotationStep;
  readonly waitsFor: readonly BehindHost[];
}

/** Begins a change. One that is under way goes on: only whether it waits for hosts that are offline can be changed. */
export async function rotateAuthority(
  context: Context,
  { leave_offline: isLeft = false }: AuthorityRotateRequest,
): Promise<Authority> {
  // Makes the first one, where no host has needed it yet.
  await context.authority.current();
  await context.db.transaction().execute(async (transaction) => {
    const trusted = await findCertificateAuthorities(transaction, "update");
    if (trusted.length === 1)
      await addCertificateAuthority(
        transaction,
        await makeAuthorityRow(transaction, context.sealing, "next"),
      );
    if (isLeft) await leaveOffline(transaction);
  });
  context.wake("host-certificates");
  return describeAuthority(context);
}

export async function describeAuthority(context: Context): Promise<Authority> {
  await context.authority.current();
  const trusted = await findCertificateAuthorities(context.db);
  const [signer] = trusted;
  if (signer === undefined) throw new SkerryError("internal", "There is no authority.");
  const { step, waitsFor } = await rotationOf(context.db, trusted);
  return {
    fingerprint: fingerprintOf(signer.certificate),
    created_at: signer.created_at.toISOString(),
    rotation: step,
    waits_for: waitsFor.map(({ id, name, status }) => ({ host_id: id, name, status })),
  };
}

/** What every host is to have. */
export async function wantedCertification(context: Context): Promise<Certification> {
  const { number } = await context.authority.current();
  return { certifiedBy: number, trusts: numbersOf(await findCertificateAuthorities(context.db)) };
}

export async function rotationNow({ db }: Context): Promise<Rotation> {
  return rotationOf(db, await findCertificateAuthorities(db));
}

/** Takes the next step where nothing needs the one before; true where it did. */
export async function advanceRotation(context: Context, service: string): Promise<boolean> {
  const done = await context.db.transaction().execute(async (transaction) => {
    // No machine joins under an authority that stops signing meanwhile: a join holds the rows, too.
    const trusted = await findCertificateAuthorities(transaction, "update");
    const other = trusted.find(({ status }) => status !== "current");
    if (other?.known !== true) return undefined;
    const { waitsFor } = await rotationOf(transaction, trusted);
    if (waitsFor.length > 0) return undefined;
    if (other.status === "next") await promoteAuthority(transaction, other);
    else await removeAuthority(transaction, other.number);
    const action = other.status === "next" ? "authority.sign" : "authority.remove";
    await record(transaction, { service, action }, other);
    return { action, number: other.number };
  });
  if (done !== undefined)
    context.log.info({ authority: done.number, action: done.action }, "an authority changed");
  return done !== undefined;
}

async function rotationOf(db: Queries, trusted: readonly CertificateAuthorityRow[]): Promise<Rotation> {
  const numbers = numbersOf(trusted);
  const [signer] = trusted;
  const other = trusted.find(({ status }) => status !== "current");
  if (signer === undefined || other === undefined) {
    const waitsFor = await hostsTrustingMore(db, numbers);
    return { step: waitsFor.length > 0 ? "withdrawing" : "none", waitsFor };
  }
  const isAnnounced = other.status === "next";
  const waitsFor = await hostsBehind(db, {
    trusting: numbers,
    certifiedBy: isAnnounced ? null : signer.number,
    leaveOffline: other.leave_offline,
  });
  return { step: isAnnounced ? "announcing" : "renewing", waitsFor };
}

async function record(
  transaction: Queries,
  act: { readonly service: string; readonly action: AuditAction },
  { number }: CertificateAuthorityRow,
): Promise<void> {
  const operator = await operatorOrganization(transaction);
  if (operator === undefined) return;
  await recordOwnActs(transaction, { ...act, resource: "authority" }, [
    { id: String(number), org_id: operator },
  ]);
}
