// The key of the cluster's authority, sealed under the root key as secrets of organizations are. Every host obeys its holder, so a copy
// of the database alone must not have it.
//
// Versions before migration 41 read it in the clear. So it is sealed only where none of them may serve with the database: one that this version
// has made, one of a later release, or where the operator has said so by `skerry key rotate`, after which they refuse to start.

import { fingerprintOf } from "@skerry/contract/joining/join-token";
import type { Database, Queries } from "../db/database.ts";
import { authorityMayBeSealed, requireReadersOfSealedAuthority } from "../db/migrations.ts";
import type { SealedFor } from "../sealing/sealed-value.ts";
import { CLUSTER, type Sealing } from "../sealing/sealing.ts";
import {
  findCertificateAuthorities,
  storeSealedKey,
  type CertificateAuthorityRow,
  type NewAuthorityRow,
} from "./certificate-authority-store.ts";
import { makeAuthority } from "./x509.ts";

/** Not written yet. Throws `secrets_unavailable` where its key is to be sealed and the root key is not there: none is made that would
 *  later be without its key. */
export async function makeAuthorityRow(
  queries: Queries,
  sealing: Sealing,
  status: CertificateAuthorityRow["status"],
): Promise<NewAuthorityRow> {
  const { certificate, privateKey } = makeAuthority();
  if (!sealing.hasFile || !(await authorityMayBeSealed(queries)))
    return { certificate, private_key: privateKey, sealed_key: null, status };
  const sealed_key = await sealing.seal(queries, aboutKeyOf(certificate), privateKey);
  return { certificate, private_key: null, sealed_key, status };
}

/** PEM. Throws `secrets_unavailable`, or `secret_damaged` where it is not the key of this certificate. */
export async function openAuthorityKey(
  queries: Queries,
  sealing: Sealing,
  { certificate, private_key, sealed_key }: CertificateAuthorityRow,
): Promise<string> {
  if (private_key !== null) return private_key;
  if (sealed_key === null) throw new Error("an authority has no key");
  return sealing.open(queries, aboutKeyOf(certificate), sealed_key);
}

/** Those that are in the clear are sealed, where that may be. Says how many. Throws `secrets_unavailable`. */
export async function sealAuthorityKeys(db: Database, sealing: Sealing): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    if (!sealing.hasFile || !(await authorityMayBeSealed(transaction))) return 0;
    const rows = await findCertificateAuthorities(transaction, "update");
    const plain = rows.filter(({ private_key }) => private_key !== null);
    for (const { number, certificate, private_key } of plain)
      await storeSealedKey(
        transaction,
        number,
        await sealing.seal(transaction, aboutKeyOf(certificate), private_key ?? ""),
      );
    return plain.length;
  });
}

/** The operator says that no older version serves any more. */
export async function insistOnSealedAuthority(db: Database, sealing: Sealing): Promise<number> {
  await requireReadersOfSealedAuthority(db);
  return sealAuthorityKeys(db, sealing);
}

/** For the operator; `none`: no host has needed one yet. */
export async function authorityKeyState(db: Queries): Promise<"sealed" | "plain" | "none"> {
  const rows = await findCertificateAuthorities(db);
  if (rows.length === 0) return "none";
  return rows.every(({ private_key }) => private_key === null) ? "sealed" : "plain";
}

/** Bound to its certificate, so that it opens in the place of no other authority's. */
function aboutKeyOf(certificate: string): SealedFor {
  return { owner: CLUSTER, scope: "authority-key", name: fingerprintOf(certificate), version: 1 };
}
