import { expect, test } from "vitest";
import { fingerprintOf } from "../src/joining/join-token.ts";

/** Made for this test, and used nowhere. */
const authority = `-----BEGIN CERTIFICATE-----
MIIBeTCCAR+gAwIBAgIQejycIbbMZtvnwsB7QqImhjAKBggqhkjOPQQDAjAbMRkw
FwYDVQQDDBBTa2VycnkgYXV0aG9yaXR5MB4XDTI2MTEyMjEyMzcyNVoXDTQ2MTEx
NzEzMzcyNVowGzEZMBcGA1UEAwwQU2tlcnJ5IGF1dGhvcml0eTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABNA6iTc60G+j9uKlfY1lvepRxwUuZ8NUNiy6fDj+o8OZ
iIvZwSepintkmyzSYKPFoVm7c6kg28gPY7lUcNOqScajRTBDMBIGA1UdEwEB/wQI
MAYBAf8CAQAwDgYDVR0PAQH/BAQDAgEGMB0GA1UdDgQWBBRU6Jbg94gWYjBz4rWr
gXqs7rFx6zAKBggqhkjOPQQDAgNIADBFAiEA2IJVHK6q++0y8c7adST+ifA1szog
CHuTkmVkF1dHHYICIHtTDLhBIRRtsqyDpkQQ/xxOD4UjIduIe3MtPOxWLLsT
-----END CERTIFICATE-----
`;

test("an authority is known by its fingerprint, and only where it comes alone", () => {
  expect(fingerprintOf(authority)).toMatch(/^[A-Za-z0-9_-]{43}$/);
  // Whoever is in between when a machine joins could add an authority of its own behind the right one.
  for (const more of [
    authority,
    "\n# and this\n",
    "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n",
  ]) {
    expect(() => fingerprintOf(authority + more)).toThrow();
  }
  expect(() => fingerprintOf("")).toThrow();
});
