// The cluster's own authority, made when it is needed first and kept in the database, so that all replicas share it. Hosts trust the holders of
// certificates that name control, and control trusts hosts in the same way.
//
// While it is changed for another one (`rotate-authority.ts`), both are trusted. Replicas look at which ones there are every few seconds, at
// their next connection, so a change that waits for longer than that between its steps finds every replica prepared for the next one.

import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { CONTROL_URI, hostUri, type HostCertificate } from "@skerry/contract/joining/host-certificate";
import type { ControlCredentials } from "../host-client/mutual-tls.ts";
import {
  addCertificateAuthority,
  findCertificateAuthorities,
  type Certification,
  type CertificateAuthorityRow,
} from "./certificate-authority-store.ts";
import type { Database, Queries } from "../db/database.ts";
import type { Sealing } from "../sealing/sealing.ts";
import { makeAuthorityRow, openAuthorityKey } from "./authority-key.ts";
import { certify, newKeyPair, pemOf } from "./x509.ts";

const HOUR_MS = 3_600_000;
/** Control's own are made in memory, so nothing is lost with one. */
const CONTROL_LIFETIME_MS = 24 * HOUR_MS;
const CONTROL_RENEWED_AFTER_MS = 6 * HOUR_MS;
/** A host's is renewed every day; it lasts longer so that control may be away for some days. */
export const HOST_LIFETIME_MS = 7 * 24 * HOUR_MS;
export const HOST_RENEWED_AFTER_MS = 24 * HOUR_MS;
/** So long a replica believes what it knows of the authorities. */
const KNOWN_MS = 5_000;

/** A certificate for a host, and what is remembered of it. */
export interface IssuedCertificate {
  readonly certificate: HostCertificate;
  readonly certification: Certification;
}

interface NewHost {
  readonly id: string;
  readonly publicKey: KeyObject;
  readonly trusts: readonly CertificateAuthorityRow[];
}

interface Own {
  readonly credentials: ControlCredentials;
  /** The authorities that it was made by. */
  readonly numbers: string;
  readonly madeAtMs: number;
}

export class CertificateAuthority {
  readonly #db: Database;
  readonly #sealing: Sealing;
  #own: Own | undefined;
  #lookedAtMs = -Infinity;
  #look: Promise<ControlCredentials> | undefined;

  constructor(db: Database, sealing: Sealing) {
    this.#db = db;
    this.#sealing = sealing;
  }

  /** What hosts know this process by, and whom it trusts. Renewed on the way; where the database is away for a while,
   *  or the authority's key does not open, the one before goes on. */
  async credentials(): Promise<ControlCredentials> {
    const own = this.#own;
    const isKnown = performance.now() - this.#lookedAtMs < KNOWN_MS;
    if (own !== undefined && isKnown && ageOf(own) < CONTROL_RENEWED_AFTER_MS) return own.credentials;
    this.#look ??= this.#lookAgain().finally(() => (this.#look = undefined));
    return this.#look.catch((error: unknown) => {
      if (own !== undefined && Date.now() - own.madeAtMs < CONTROL_LIFETIME_MS) return own.credentials;
      throw error;
    });
  }

  /** For a host that is one already: it is told to trust all authorities that are trusted now. */
  async certifyHost(id: string, publicKey: KeyObject): Promise<IssuedCertificate> {
    const trusted = await this.#trusted(this.#db);
    return this.#issue(this.#db, trusted, { id, publicKey, trusts: trusted });
  }

  /** For a machine that joins. It can check one authority, that of its token, and is told of no other; its first renewal, which control brings
   *  it, does that. No authority changes its status until the transaction ends. */
  async certifyJoining(queries: Queries, id: string, publicKey: KeyObject): Promise<IssuedCertificate> {
    const trusted = await this.#trusted(queries, "share");
    return this.#issue(queries, trusted, { id, publicKey, trusts: trusted.slice(0, 1) });
  }

  /** The one that signs. */
  async current(
    queries: Queries = this.#db,
  ): Promise<Pick<CertificateAuthorityRow, "number" | "certificate">> {
    return signerOf(await this.#trusted(queries));
  }

  async #lookAgain(): Promise<ControlCredentials> {
    const lookedAtMs = performance.now();
    const trusted = await this.#trusted(this.#db);
    const numbers = numbersOf(trusted).join();
    const own = this.#own;
    const isFresh = own !== undefined && ageOf(own) < CONTROL_RENEWED_AFTER_MS;
    // The one that signs is the first, so they are the same only where it is.
    const now = isFresh && own.numbers === numbers ? own : await this.#certifyOurselves(trusted, numbers);
    this.#own = now;
    this.#lookedAtMs = lookedAtMs;
    return now.credentials;
  }

  /** Keys are asked for each time and not kept: they are needed some times a day. */
  async #trusted(queries: Queries, locked?: "share"): Promise<readonly CertificateAuthorityRow[]> {
    const found = await findCertificateAuthorities(queries, locked);
    if (found.length > 0) return found;
    await addCertificateAuthority(queries, await makeAuthorityRow(queries, this.#sealing, "current"));
    return findCertificateAuthorities(queries, locked);
  }

  async #certifyOurselves(trusted: readonly CertificateAuthorityRow[], numbers: string): Promise<Own> {
    const { publicKey, privateKey } = newKeyPair();
    const cert = certify(await this.#keysOf(this.#db, signerOf(trusted)), {
      uri: CONTROL_URI,
      publicKey,
      purposes: ["client"],
      lifetimeMs: CONTROL_LIFETIME_MS,
    });
    const credentials = { ca: pemOfAll(trusted), cert, key: pemOf(privateKey) };
    return { credentials, numbers, madeAtMs: Date.now() };
  }

  async #issue(
    queries: Queries,
    trusted: readonly CertificateAuthorityRow[],
    host: NewHost,
  ): Promise<IssuedCertificate> {
    const signer = signerOf(trusted);
    const certificate = certify(await this.#keysOf(queries, signer), {
      uri: hostUri(host.id),
      publicKey: host.publicKey,
      // Server towards control; client towards another host, to which it sends a VM.
      purposes: ["server", "client"],
      lifetimeMs: HOST_LIFETIME_MS,
    });
    return {
      certificate: { host_id: host.id, certificate, authority: pemOfAll(host.trusts) },
      certification: { certifiedBy: signer.number, trusts: numbersOf(host.trusts) },
    };
  }

  /** Throws `secrets_unavailable` and `secret_damaged`. */
  async #keysOf(queries: Queries, authority: CertificateAuthorityRow) {
    return {
      privateKey: createPrivateKey(await openAuthorityKey(queries, this.#sealing, authority)),
      publicKey: new X509Certificate(authority.certificate).publicKey,
    };
  }
}

export function numbersOf(authorities: readonly CertificateAuthorityRow[]): number[] {
  return authorities.map(({ number }) => number);
}

/** One that was made later than now is from before the clock was set back: nothing says how old it is. */
function ageOf({ madeAtMs }: Own): number {
  const ageMs = Date.now() - madeAtMs;
  return ageMs < 0 ? Infinity : ageMs;
}

function signerOf(trusted: readonly CertificateAuthorityRow[]): CertificateAuthorityRow {
  const [first] = trusted;
  if (first?.status !== "current") throw new Error("no authority signs");
  return first;
}

function pemOfAll(authorities: readonly CertificateAuthorityRow[]): string {
  return authorities.map(({ certificate }) => certificate).join("");
}
