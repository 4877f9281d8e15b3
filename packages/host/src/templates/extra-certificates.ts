// The operator's certificates (`SKERRY_EXTRA_CA`), which guests trust besides Debian's: behind a proxy that reads HTTPS, nothing in a guest can
// fetch a package without its authority. They become part of a template's disk, and of its identity.

import { createHash, X509Certificate } from "node:crypto";
import { chmod, mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../system/run.ts";

export interface ExtraCertificates {
  /** Each as PEM. */
  readonly certificates: readonly string[];
  readonly digest: string;
}

/** The setting names a file that cannot be used; `message` says why and what to do. */
export class ExtraCertificatesFault extends Error {
  override readonly name = "ExtraCertificatesFault";

  constructor(file: string, why: string) {
    super(
      `SKERRY_EXTRA_CA: ${file} ${why}. Name a file with certificates in PEM, each between BEGIN CERTIFICATE and END CERTIFICATE.`,
    );
  }
}

/** As many as a bundle of a company has; Debian's own has about 140. */
const CERTIFICATES_MAX = 500;
const SIZE_MAX_BYTES = 2 * 1024 * 1024;
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Only the certificates of the file are taken; a key that is in it too goes nowhere. Throws ExtraCertificatesFault. */
export async function readExtraCertificates(path: string): Promise<ExtraCertificates> {
  const text = await readText(path);
  const certificates = (text.match(BLOCK) ?? []).map((pem, index) => {
    try {
      return new X509Certificate(pem).toString();
    } catch {
      throw new ExtraCertificatesFault(path, `has a certificate that is broken (number ${index + 1})`);
    }
  });
  if (certificates.length === 0) throw new ExtraCertificatesFault(path, "has no certificate");
  if (certificates.length > CERTIFICATES_MAX)
    throw new ExtraCertificatesFault(path, `has more than ${CERTIFICATES_MAX} certificates`);
  const digest = createHash("sha256").update(certificates.join("")).digest("hex");
  return { certificates, digest };
}

async function readText(path: string): Promise<string> {
  try {
    await using file = await open(path, "r");
    const found = await file.stat();
    if (!found.isFile()) throw new ExtraCertificatesFault(path, "is not a file");
    if (found.size > SIZE_MAX_BYTES)
      throw new ExtraCertificatesFault(path, `has more than ${SIZE_MAX_BYTES} bytes`);
    return await file.readFile("utf8");
  } catch (error) {
    if (error instanceof ExtraCertificatesFault) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new ExtraCertificatesFault(
      path,
      code === "ENOENT" ? "is not there" : `cannot be read (${String(code)})`,
    );
  }
}

/** The package by which a guest trusts certificates; a template that names it not has it then too. */
export const CERTIFICATES_PACKAGE = "ca-certificates";

const BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

/** Environment of programs that do not ask the system which certificates it trusts. */
export const certificatesEnv: Readonly<Record<string, string>> = {
  NODE_EXTRA_CA_CERTS: BUNDLE,
  // Python packages bring a list of their own.
  PIP_CERT: BUNDLE,
  REQUESTS_CA_BUNDLE: BUNDLE,
  SSL_CERT_FILE: BUNDLE,
};

/** Debian's folder for what the administrator trusts; one certificate a file, as its program wants them. */
const LOCAL_CERTIFICATES = "usr/local/share/ca-certificates";
const UPDATE_DEADLINE_MS = 120_000;

/** Puts them among those that the system in this folder trusts. */
export async function installCertificates(
  root: string,
  { certificates }: ExtraCertificates,
  contain: string,
): Promise<void> {
  const folder = join(root, LOCAL_CERTIFICATES);
  await mkdir(folder, { recursive: true });
  await Promise.all(
    certificates.map(async (pem, index) => {
      const file = join(folder, `skerry-extra-${index + 1}.crt`);
      await writeFile(file, pem);
      // The host's umask may have taken bits away.
      await chmod(file, 0o644);
    }),
  );
  await runProgram("chroot", [root, "/usr/sbin/update-ca-certificates"], {
    deadlineMs: UPDATE_DEADLINE_MS,
    contain,
  });
}
