// The identities of control and its hosts. Both have certificates of the cluster's one authority. The name in
// a certificate (a URI) tells whether its holder is control or which host it is; addresses and DNS names are
// not used.

import { Type, type Static } from "typebox";
import { OneOf } from "../fields.ts";
import { idPattern } from "../ids.ts";

const closed = { additionalProperties: false } as const;

/** A valid name of a host: the characters that a machine's host name may have. */
export const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$/;

export const CONTROL_URI = "skerry://control";

export function hostUri(id: string): string {
  return `skerry://host/${id}`;
}

/** The holder of the certificate at the other end of a connection. */
export type Peer = { readonly role: "control" } | { readonly role: "host"; readonly id: string };

const hostName = new RegExp(`^URI:skerry://host/(${idPattern("host").slice(1, -1)})$`);

/** The holder of a certificate, by its alternative names as Node prints them. Undefined where they are not
 *  exactly one name of ours. */
export function peerNamed(subjectAltName: string | undefined): Peer | undefined {
  if (subjectAltName === `URI:${CONTROL_URI}`) return { role: "control" };
  const id = hostName.exec(subjectAltName ?? "")?.[1];
  return id === undefined ? undefined : { role: "host", id };
}

const Pem = Type.String({ maxLength: 8_192 });

/** What a host signs to show that it has the private key: this and the public key. */
export const CERTIFICATE_REQUEST = "skerry certificate request\n";

/** A host asks to be certified. Its key was made for this, and never leaves it. */
export const CertificateRequest = Type.Object(
  {
    public_key: Type.String({ maxLength: 1_024, description: "PEM (SPKI), of the curve P-256." }),
    signature: Type.String({ maxLength: 256, description: "By the private key; base64." }),
  },
  closed,
);
export type CertificateRequest = Static<typeof CertificateRequest>;

/** A host that joins again shows by its key that it is the one that it was; otherwise each certificate has
 *  a key of its own. */
export const CertificateRequestQuery = Type.Object({ key: Type.Optional(OneOf(["new", "current"])) }, closed);

/** The certificates of a PEM text. Throws where there is anything else in it. */
export function certificatesIn(pem: string): readonly string[] {
  const found = pem.match(CERTIFICATE) ?? [];
  if (found.length > 0 && pem.replaceAll(CERTIFICATE, "").trim() === "") return found;
  throw new Error("this is no PEM text of certificates alone");
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** What makes a host one of the cluster. */
export const HostCertificate = Type.Object(
  {
    host_id: Type.String({ pattern: idPattern("host") }),
    certificate: Pem,
    authority: Type.String({ maxLength: 8_192, description: "Certificate of the authority, PEM." }),
  },
  closed,
);
export type HostCertificate = Static<typeof HostCertificate>;
