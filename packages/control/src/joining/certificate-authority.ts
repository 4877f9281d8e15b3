// The cluster's own authority, made when it is needed first and kept in the database, so that all replicas share it. Hosts trust each holder
// of a certificate for control that it has signed, and control trusts hosts in the same way.

import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { CONTROL_URI, hostUri, type HostCertificate } from "@skerry/contract/joining/host-certificate";
import type { ControlCredentials } from "../host-client/mutual-tls.ts";
import {
  findCertificateAuthority,
  keepFirstCertificateAuthority,
  type CertificateAuthorityRow,
} from "./certificate-authority-store.ts";
import type { Database, Queries } from "../db/database.ts";
import { certify, makeAuthority, newKeyPair, pemOf } from "./x509.ts";

const HOUR_MS = 3_600_000;
/** Control's own are made in memory, so nothing is lost with one. */
const CONTROL_LIFETIME_MS = 24 * HOUR_MS;
const CONTROL_RENEWED_AFTER_MS = 6 * HOUR_MS;
/** A host's is renewed every day; it lasts longer so that control may be away for some days. */
export const HOST_LIFETIME_MS = 7 * 24 * HOUR_MS;
export const HOST_RENEWED_AFTER_MS = 24 * HOUR_MS;

export class CertificateAuthority {
  readonly #db: Database;
  #own: { readonly credentials: ControlCredentials; readonly madeAtMs: number } | undefined;
  #renewal: Promise<ControlCredentials> | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  /** What hosts know this process by. Renewed on the way; where the database is away for a while, the one before goes on. */
  async credentials(): Promise<ControlCredentials> {
    const own = this.#own;
    const ageMs = own === undefined ? Infinity : Date.now() - own.madeAtMs;
    if (own !== undefined && ageMs < CONTROL_RENEWED_AFTER_MS) return own.credentials;
    this.#renewal ??= this.#certifyOurselves().finally(() => (this.#renewal = undefined));
    return this.#renewal.catch((error: unknown) => {
      if (own !== undefined && ageMs < CONTROL_LIFETIME_MS) return own.credentials;
      throw error;
    });
  }

  async certifyHost(id: string, publicKey: KeyObject, queries?: Queries): Promise<HostCertificate> {
    const { authority, keys } = await this.#open(queries);
    const certificate = certify(keys, {
      uri: hostUri(id),
      publicKey,
      // Server towards control; client towards another host, to which it sends a VM.
      purposes: ["server", "client"],
      lifetimeMs: HOST_LIFETIME_MS,
    });
    return { host_id: id, certificate, authority };
  }

  /** The authority's certificate, PEM. */
  async certificate(): Promise<string> {
    return (await this.#open()).authority;
  }

  async #certifyOurselves(): Promise<ControlCredentials> {
    const { authority, keys } = await this.#open();
    const { publicKey, privateKey } = newKeyPair();
    const cert = certify(keys, {
      uri: CONTROL_URI,
      publicKey,
      purposes: ["client"],
      lifetimeMs: CONTROL_LIFETIME_MS,
    });
    const credentials = { ca: authority, cert, key: pemOf(privateKey) };
    this.#own = { credentials, madeAtMs: Date.now() };
    return credentials;
  }

  /** Its key is asked for each time and not kept: it is needed some times a day. */
  async #open(queries: Queries = this.#db): Promise<{
    readonly authority: string;
    readonly keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  }> {
    const row = (await findCertificateAuthority(queries)) ?? (await makeFirst(queries));
    const keys = {
      privateKey: createPrivateKey(row.private_key),
      publicKey: new X509Certificate(row.certificate).publicKey,
    };
    return { authority: row.certificate, keys };
  }
}

function makeFirst(queries: Queries): Promise<CertificateAuthorityRow> {
  const { certificate, privateKey } = makeAuthority();
  return keepFirstCertificateAuthority(queries, { certificate, private_key: privateKey });
}
