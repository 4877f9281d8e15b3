// The certificate for the names of ports, where it is another one than the API's. Clients say in the handshake which name they want.

import { createSecureContext, type SecureContext } from "node:tls";
import type { Logger } from "pino";
import type { SandboxDomainConfig } from "./config.ts";
import { readKeyPair, renewTlsCertificate, type CertificateSettings } from "./tls-certificate.ts";

export interface SandboxCertificate extends Disposable {
  /** Undefined: the API's is for this name. */
  contextFor(name: string): SecureContext | undefined;
}

const settings: CertificateSettings = { cert: "SKERRY_SANDBOX_TLS_CERT", key: "SKERRY_SANDBOX_TLS_KEY" };

/** Undefined where there is none. Throws `CertificateError`. */
export async function openSandboxCertificate(
  config: SandboxDomainConfig | undefined,
  looks: { readonly everyMs: number; readonly log: Logger; readonly expires?: (atS: number) => void },
): Promise<SandboxCertificate | undefined> {
  if (config?.certificate === undefined) return undefined;
  const { domain, certificate: tls } = config;
  const pair = await readKeyPair(tls, settings);
  let context = createSecureContext(pair);
  const place = { setSecureContext: (found: object) => void (context = createSecureContext(found)) };
  const renewal = renewTlsCertificate(place, { tls, settings, pair, ...looks });
  return {
    contextFor: (name) => (name.toLowerCase().endsWith(`.${domain}`) ? context : undefined),
    [Symbol.dispose]: () => renewal[Symbol.dispose](),
  };
}
