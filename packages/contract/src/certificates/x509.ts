// X.509 certificates, P-256: of the cluster's authority, and of the authorities that stand for servers where
// a request gets a secret on its way. Pure but for serial numbers. Node reads and checks certificates but
// cannot make them.

import { createHash, randomBytes, sign, type KeyObject } from "node:crypto";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import * as asn1 from "@peculiar/asn1-x509";

export const CURVE = "prime256v1";
const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const COMMON_NAME = "2.5.4.3";
/**
 * All certificates are valid from here on, whenever they were made: one that a clock which was ahead has
 * made, or that was made before the clock was set back, would otherwise be refused until the clock has gone
 * that far again. Only its end bounds a certificate.
 */
const VALID_FROM = new Date("2025-01-01T00:00:00Z");
/** The top bit of a serial number would make it negative. */
const SERIAL_BYTES = 16;
const KEY_ID_BYTES = 20;

export type Purpose = "client" | "server";

const purposeIds: Readonly<Record<Purpose, string>> = {
  client: asn1.id_kp_clientAuth,
  server: asn1.id_kp_serverAuth,
};

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export interface LeafContent {
  readonly issuer: string;
  readonly subject: string;
  /** The one name of its holder. */
  readonly name: { readonly uri: string } | { readonly dns: string };
  readonly publicKey: KeyObject;
  readonly purposes: readonly Purpose[];
  readonly until: Date;
}

/**
 * PEM of an authority's own certificate. It signs certificates of others, and none that could sign further
 * ones.
 */
export function authorityCertificate(
  { privateKey, publicKey }: KeyPair,
  { name, until }: { readonly name: string; readonly until: Date },
): string {
  return signed(privateKey, {
    ...{ issuer: name, subject: name, publicKey, until },
    extensions: [
      extension(asn1.id_ce_basicConstraints, new asn1.BasicConstraints({ cA: true, pathLenConstraint: 0 })),
      extension(
        asn1.id_ce_keyUsage,
        new asn1.KeyUsage(asn1.KeyUsageFlags.keyCertSign | asn1.KeyUsageFlags.cRLSign),
      ),
      extension(asn1.id_ce_subjectKeyIdentifier, new asn1.SubjectKeyIdentifier(keyId(publicKey))),
    ],
  });
}

/** PEM of a certificate for this name and key. */
export function leafCertificate(authority: KeyPair, leaf: LeafContent): string {
  const name = new asn1.GeneralName(
    "uri" in leaf.name ? { uniformResourceIdentifier: leaf.name.uri } : { dNSName: leaf.name.dns },
  );
  return signed(authority.privateKey, {
    ...leaf,
    extensions: [
      extension(asn1.id_ce_basicConstraints, new asn1.BasicConstraints({ cA: false })),
      extension(asn1.id_ce_keyUsage, new asn1.KeyUsage(asn1.KeyUsageFlags.digitalSignature)),
      extension(
        asn1.id_ce_extKeyUsage,
        new asn1.ExtendedKeyUsage(leaf.purposes.map((purpose) => purposeIds[purpose])),
      ),
      extension(asn1.id_ce_subjectAltName, new asn1.SubjectAlternativeName([name])),
      extension(
        asn1.id_ce_authorityKeyIdentifier,
        new asn1.AuthorityKeyIdentifier({
          keyIdentifier: new asn1.KeyIdentifier(keyId(authority.publicKey)),
        }),
      ),
    ],
  });
}

/** SHA-256 of a public key, which tells it from others. */
export function keyDigest(publicKey: KeyObject): Buffer {
  return createHash("sha256").update(spki(publicKey)).digest();
}

interface Content {
  readonly issuer: string;
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly until: Date;
  readonly extensions: readonly asn1.Extension[];
}

function signed(privateKey: KeyObject, content: Content): string {
  const algorithm = new asn1.AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
  const serial = randomBytes(SERIAL_BYTES);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const tbsCertificate = new asn1.TBSCertificate({
    version: asn1.Version.v3,
    serialNumber: arrayBuffer(serial),
    signature: algorithm,
    issuer: nameOf(content.issuer),
    validity: new asn1.Validity({
      notBefore: VALID_FROM,
      notAfter: content.until,
    }),
    subject: nameOf(content.subject),
    subjectPublicKeyInfo: AsnConvert.parse(spki(content.publicKey), asn1.SubjectPublicKeyInfo),
    extensions: new asn1.Extensions([...content.extensions]),
  });
  const signature = sign("sha256", Buffer.from(AsnConvert.serialize(tbsCertificate)), privateKey);
  const certificate = new asn1.Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue: arrayBuffer(signature),
  });
  const base64 = Buffer.from(AsnConvert.serialize(certificate)).toString("base64");
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}(?=.)/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
}

/** All of ours are critical but the hints that help to find the authority's key. */
function extension(extnID: string, value: object): asn1.Extension {
  const hints: readonly string[] = [asn1.id_ce_subjectKeyIdentifier, asn1.id_ce_authorityKeyIdentifier];
  return new asn1.Extension({
    extnID,
    critical: !hints.includes(extnID),
    extnValue: new OctetString(AsnConvert.serialize(value)),
  });
}

function nameOf(commonName: string): asn1.Name {
  const value = new asn1.AttributeValue({ utf8String: commonName });
  const attribute = new asn1.AttributeTypeAndValue({ type: COMMON_NAME, value });
  return new asn1.Name([new asn1.RelativeDistinguishedName([attribute])]);
}

function keyId(publicKey: KeyObject): ArrayBuffer {
  return arrayBuffer(keyDigest(publicKey).subarray(0, KEY_ID_BYTES));
}

function spki(publicKey: KeyObject): Buffer {
  return publicKey.export({ type: "spki", format: "der" });
}

/** A copy: a Buffer's own may be shared with others. */
function arrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
