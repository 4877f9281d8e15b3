// The certificate of the HTTPS port: read at the start, and again when its files have changed, so that a renewal needs no restart.

import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Server } from "node:https";
import { createSecureContext } from "node:tls";
import type { Logger } from "pino";
import type { CertificateFiles } from "./config.ts";
import type { KeyPair } from "../http/http-server.ts";

/** The files cannot be used; the message says which setting to look at. */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
}

/** The settings that name the files of a certificate. */
export interface CertificateSettings {
  readonly cert: string;
  readonly key: string;
}

const ofApi: CertificateSettings = { cert: "SKERRY_TLS_CERT", key: "SKERRY_TLS_KEY" };

export async function readKeyPair(
  { certFile, keyFile }: CertificateFiles,
  settings: CertificateSettings = ofApi,
): Promise<KeyPair> {
  const pair = {
    cert: await readPem(settings.cert, certFile),
    key: await readPem(settings.key, keyFile),
  };
  try {
    createSecureContext(pair);
  } catch (cause) {
    throw new CertificateError(
      `${settings.cert} and ${settings.key} must be a PEM certificate chain and its private key: ${messageOf(cause)}.`,
      { cause },
    );
  }
  return pair;
}

/** The end of the validity of its own certificate, in seconds since 1970. */
function expiryS({ cert }: KeyPair): number {
  return new X509Certificate(cert).validToDate.getTime() / 1_000;
}

/** Looks at the files every `everyMs`. What cannot be used is reported, and the certificate in use stays. */
export function renewTlsCertificate(
  server: Pick<Server, "setSecureContext">,
  {
    tls,
    settings = ofApi,
    pair,
    everyMs,
    log,
    expires,
  }: {
    tls: CertificateFiles;
    settings?: CertificateSettings;
    pair: KeyPair;
    everyMs: number;
    log: Logger;
    /** Told of the end of the validity of each certificate that is used. */
    expires?: ((atS: number) => void) | undefined;
  },
): Disposable {
  let used = pair;
  expires?.(expiryS(pair));
  const look = async () => {
    const found = await readKeyPair(tls, settings);
    if (found.cert === used.cert && found.key === used.key) return;
    server.setSecureContext(found);
    used = found;
    expires?.(expiryS(found));
    log.info("the certificate was renewed");
  };
  const timer = setInterval(() => {
    void look().catch((error: unknown) => log.warn({ err: error }, "the new certificate cannot be used"));
  }, everyMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

async function readPem(setting: string, file: string): Promise<string> {
  try {
    const text = await readFile(file, "utf8");
    // Of one that is being replaced nothing may be there yet, and TLS would do without a certificate.
    if (text.trim() === "") throw new Error("it is empty");
    return text;
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
