// The certificate of the HTTPS port: read at the start, and again when its files have changed, so that a renewal needs no restart.

import { readFile } from "node:fs/promises";
import type { Server } from "node:https";
import { createSecureContext } from "node:tls";
import type { Logger } from "pino";
import type { TlsConfig } from "./config.ts";
import type { KeyPair } from "../http/http-server.ts";

/** The files cannot be used; the message says which setting to look at. */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
}

export async function readKeyPair({ certFile, keyFile }: TlsConfig): Promise<KeyPair> {
  const pair = {
    cert: await readPem("SKERRY_TLS_CERT", certFile),
    key: await readPem("SKERRY_TLS_KEY", keyFile),
  };
  try {
    createSecureContext(pair);
  } catch (cause) {
    throw new CertificateError(
      `SKERRY_TLS_CERT and SKERRY_TLS_KEY must be a PEM certificate chain and its private key: ${messageOf(cause)}.`,
      { cause },
    );
  }
  return pair;
}

/** Looks at the files every `everyMs`. What cannot be used is reported, and the certificate in use stays. */
export function renewTlsCertificate(
  server: Server,
  { tls, pair, everyMs, log }: { tls: TlsConfig; pair: KeyPair; everyMs: number; log: Logger },
): Disposable {
  let used = pair;
  const look = async () => {
    const found = await readKeyPair(tls);
    if (found.cert === used.cert && found.key === used.key) return;
    server.setSecureContext(found);
    used = found;
    log.info("the certificate was renewed");
  };
  const timer = setInterval(() => {
    void look().catch((error: unknown) => log.warn({ err: error }, "the new certificate cannot be used"));
  }, everyMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

async function readPem(setting: string, file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new CertificateError(
      `${setting} names a file that cannot be read by the user of the control plane: ${messageOf(cause)}.`,
      { cause },
    );
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
