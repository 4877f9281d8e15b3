// The identity of this host in its cluster: a private key that never leaves it, and a certificate of the
// cluster's authority, which control installs. The key is new with each certificate. Both are in one file, so
// that no crash can leave a certificate with another's key.

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  X509Certificate,
  type KeyObject,
} from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import type { SecureContextOptions } from "node:tls";
import { SkerryError } from "@skerry/contract/errors";
import {
  CERTIFICATE_REQUEST,
  certificatesIn,
  hostUri,
  type CertificateRequest,
  type HostCertificate,
} from "@skerry/contract/joining/host-certificate";

const FILE = "identity.json";
const CURVE = "prime256v1";

/** Certificate, authorities and key, all PEM. */
export interface Certified extends HostCertificate {
  readonly private_key: string;
}

export class Identity {
  readonly #folder: string;
  #current: Certified | undefined;
  /** The key of the certificate that was requested last. */
  #pending: KeyObject | undefined;
  #listeners: (() => Promise<void>)[] = [];

  private constructor(folder: string, current: Certified | undefined) {
    this.#folder = folder;
    this.#current = current;
  }

  static async open(stateFolder: string): Promise<Identity> {
    const text = await readFile(join(stateFolder, FILE), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    // Only this class writes the file, whole.
    return new Identity(stateFolder, text === undefined ? undefined : (JSON.parse(text) as Certified));
  }

  /** Undefined: the host belongs to no cluster yet. */
  get hostId(): string | undefined {
    return this.#current?.host_id;
  }

  /** Undefined without a certificate. */
  get certified(): Certified | undefined {
    return this.#current;
  }

  /** TLS credentials for connections within the cluster, as client and server. Undefined without a
   *  certificate. */
  get credentials(): SecureContextOptions | undefined {
    if (this.#current === undefined) return undefined;
    const { private_key: key, certificate: cert, authority: ca } = this.#current;
    return { key, cert, ca, minVersion: "TLSv1.3" };
  }

  /** The request to certify a new key, or the current one where there is one. Only the latest request can
   *  be answered. */
  request(key: "new" | "current" = "new"): CertificateRequest {
    const current = key === "current" ? this.#current?.private_key : undefined;
    const privateKey =
      current === undefined
        ? generateKeyPairSync("ec", { namedCurve: CURVE }).privateKey
        : createPrivateKey(current);
    this.#pending = privateKey;
    const public_key = createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString();
    const signature = sign("sha256", Buffer.from(CERTIFICATE_REQUEST + public_key), privateKey);
    return { public_key, signature: signature.toString("base64") };
  }

  /** Takes the certificate that was requested. Only on this machine the host can be given to another
   *  cluster. */
  async install(given: HostCertificate, { mayChange }: { readonly mayChange: boolean }): Promise<void> {
    const pending = this.#pending;
    if (pending === undefined) throw refused("no certificate has been requested");
    const fault = faultOf(given, pending);
    if (fault !== undefined) throw refused(fault);
    if (!mayChange && this.#isAnother(given)) throw refused("it would make this host another one");
    const certified = { ...given, private_key: pending.export({ type: "pkcs8", format: "pem" }).toString() };
    await this.#save(certified);
    this.#current = certified;
    this.#pending = undefined;
    for (const listener of this.#listeners) await listener();
  }

  /** Called after each change. */
  onChange(listener: () => Promise<void>): void {
    this.#listeners.push(listener);
  }

  #isAnother({ host_id, authority }: HostCertificate): boolean {
    return (
      this.#current !== undefined &&
      (this.#current.host_id !== host_id || !haveCommon(this.#current.authority, authority))
    );
  }

  async #save(certified: Certified): Promise<void> {
    const file = join(this.#folder, FILE);
    await using part = await open(`${file}.part`, "w", 0o600);
    await part.writeFile(JSON.stringify(certified));
    await part.sync();
    await rename(`${file}.part`, file);
  }
}

/** While a cluster changes its authority, hosts are told of both. One that is trusted already vouches for the other, because control
 *  has shown a certificate of it to get here. */
function haveCommon(authorities: string, others: string): boolean {
  const known = new Set(certificatesIn(authorities));
  return certificatesIn(others).some((pem) => known.has(pem));
}

/** The fault of a certificate; undefined where it is for this host and this key, and valid now. */
function faultOf({ host_id, certificate, authority }: HostCertificate, key: KeyObject): string | undefined {
  let parsed: { own: X509Certificate; trusted: readonly X509Certificate[] };
  try {
    const trusted = certificatesIn(authority).map((pem) => new X509Certificate(pem));
    parsed = { own: new X509Certificate(certificate), trusted };
  } catch {
    return "it is no certificate";
  }
  const { own, trusted } = parsed;
  const isIssued = trusted.some((issuer) => own.checkIssued(issuer) && own.verify(issuer.publicKey));
  if (!isIssued || !trusted.every(({ ca }) => ca)) return "it is not by an authority that came with it";
  if (own.subjectAltName !== `URI:${hostUri(host_id)}`) return "it is for another holder";
  if (!own.checkPrivateKey(key)) return "it is for another key";
  const now = Date.now();
  if (now < Date.parse(own.validFrom) || now > Date.parse(own.validTo))
    return "by the clock of this machine it is not valid now; set the clock";
  return undefined;
}

function refused(why: string): SkerryError {
  return new SkerryError("bad_request", `The certificate cannot be used: ${why}.`);
}
