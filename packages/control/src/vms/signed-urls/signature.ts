// What the `_skerry` of a signed URL says: until when it holds, and that we have made it for this very thing.

import { SkerryError, type ErrorCode } from "@skerry/contract/errors";
import type { SigningKeySet } from "../../signing/signing-keys.ts";

/** Where it cannot be told whether a signature is ours. */
export const ofSigningKey = ["secrets_unavailable", "secret_damaged"] as const satisfies ErrorCode[];
/** Of what a signed URL opens. */
export const ofSignedUrl = [
  "invalid_signature",
  "url_expired",
  ...ofSigningKey,
] as const satisfies ErrorCode[];

/** In the query of a signed URL. */
export const SIGNATURE_PARAMETER = "_skerry";

/** What one URL opens. It ends with the VM, whose id no other one gets; not with a stop of a machine. */
export interface SignedThing {
  readonly orgId: string;
  readonly vmId: string;
  /** Such as `port 3000`: signed-things.ts. */
  readonly what: string;
}

/** `1795392000.` and the code. */
export function sign(keys: SigningKeySet, thing: SignedThing, expiresAtS: number): string {
  return `${expiresAtS}.${keys.sign("signed url", textOf(thing, expiresAtS)).toString("base64url")}`;
}

/** Throws unless the signature is ours, of this thing, and still holds. */
export function checkSignature(
  keys: SigningKeySet,
  thing: SignedThing,
  signature: string,
  nowMs: number,
): void {
  const [, expires, code] = /^(\d{1,12})\.([A-Za-z0-9_-]{43})$/.exec(signature) ?? [];
  if (expires === undefined || code === undefined) throw invalidSignature();
  const given = Buffer.from(code, "base64url");
  if (!keys.isSigned("signed url", textOf(thing, Number(expires)), given)) throw invalidSignature();
  if (Number(expires) * 1_000 > nowMs) return;
  throw new SkerryError("url_expired", "The signed URL has expired.", {
    remediation: "Ask who gave it to you for another one.",
  });
}

/** The same for a thing that is not there. */
export function invalidSignature(): SkerryError {
  return new SkerryError("invalid_signature", "The URL's signature is not valid for what it names.", {
    remediation:
      "Use the URL as it was given to you, all of it. One from before a change of the signing key is not valid any more: ask for another one.",
  });
}

/** Only the last field may have a newline in it, so no two things have the same text. */
function textOf({ orgId, vmId, what }: SignedThing, expiresAtS: number): string {
  return `${orgId}\n${vmId}\n${expiresAtS}\n${what}`;
}

export interface SplitUrl {
  readonly signature: string | undefined;
  /** The URL without it, otherwise byte for byte. */
  readonly rest: string;
}

/** Takes the signature out of a URL's query. */
export function splitSignature(url: string): SplitUrl {
  const at = url.indexOf("?");
  if (at < 0 || !url.includes(SIGNATURE_PARAMETER)) return { signature: undefined, rest: url };
  const isSignature = (part: string) => part.startsWith(`${SIGNATURE_PARAMETER}=`);
  const parts = url.slice(at + 1).split("&");
  const others = parts.filter((part) => !isSignature(part)).join("&");
  return {
    signature: parts.find(isSignature)?.slice(SIGNATURE_PARAMETER.length + 1),
    rest: url.slice(0, at) + (others === "" ? "" : `?${others}`),
  };
}
