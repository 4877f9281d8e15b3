// Certificates of a cluster's authority for hosts in tests.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { hostUri } from "@skerry/contract/joining/host-certificate";
import { certify, makeAuthority, newKeyPair, pemOf } from "../../../control/src/joining/x509.ts";
import type { Certified } from "../../src/config/identity.ts";

const DAY_MS = 24 * 3_600_000;

/** Certifies names of one new authority. */
export function newCertifier(): (uri: string) => Certified {
  const { certificate: authority, privateKey } = makeAuthority();
  const by = {
    privateKey: createPrivateKey(privateKey),
    publicKey: new X509Certificate(authority).publicKey,
  };
  return (uri) => {
    const keys = newKeyPair();
    const purposes = ["server", "client"] as const;
    const leaf = { uri, publicKey: keys.publicKey, purposes, lifetimeMs: DAY_MS };
    const host_id = uri.slice(hostUri("").length);
    return { host_id, certificate: certify(by, leaf), authority, private_key: pemOf(keys.privateKey) };
  };
}
