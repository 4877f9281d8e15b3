// Certificates that a guest needs where its requests get secrets on their way: the authority of its VM, by
// itself, behind those of its system in a bundle of its own, and in the system's bundle. The variables that
// name them are control's.

import { X509Certificate } from "node:crypto";
import { rootCertificates } from "node:tls";
import { SkerryError } from "@skerry/contract/errors";
import { AUTHORITY_FILE, BUNDLE_FILE, type Injection } from "@skerry/contract/vms/inject";
import { startRead, startWrite, writtenBytes } from "../../guest/agent.ts";
import type { GuestChannel } from "../../guest/channel.ts";
import { makeDirectory } from "../../guest/entries.ts";
import { patiently } from "../../guest/patience.ts";
import { GuestRefusal } from "../../guest/stream.ts";
import { authorityOf } from "../../names/vm-authority.ts";

const FOLDER = "/run/skerry";
/** Bundles of Debian, of what comes of it and of Alpine, and of Fedora and what comes of it. */
const SYSTEM_BUNDLES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];
/** Debian's has 220 KB. */
const BUNDLE_MAX_BYTES = 4 * 1024 * 1024;
/** For all of it: a hostile guest may delay each answer. */
const WITHIN_MS = 30_000;
const [FOLDER_MODE, FILE_MODE] = [0o755, 0o644];
const [BEGIN, END] = [
  "# begin of Skerry's authority for this VM\n",
  "# end of Skerry's authority for this VM\n",
];

/**
 * A guest that has them is not written to. A guest that refuses a file goes without it, and trusts no server that gets a secret.
 */
export async function giveTrust(channel: GuestChannel, injection: Injection): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      late.reject(
        new SkerryError("guest_timeout", "The guest did not take the authority of its VM in time."),
      ),
    WITHIN_MS,
  );
  try {
    await Promise.race([give(channel, injection), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function give(channel: GuestChannel, injection: Injection): Promise<void> {
  const authority = authorityOf(injection);
  const known = await readFile(channel, AUTHORITY_FILE);
  if (known !== undefined && isSame(known, authority)) return;
  const [system] = (await Promise.all(SYSTEM_BUNDLES.map((path) => readFile(channel, path)))).flatMap(
    (text, at) => (text === undefined ? [] : [{ path: SYSTEM_BUNDLES[at] ?? "", text }]),
  );
  // Programs that are told of a bundle trust no other authorities, so it never has ours alone.
  const others = withoutOurs(system?.text ?? rootCertificates.join("\n"));
  const bundle = `${others}${BEGIN}${authority}${END}`;
  await unlessRefused(async () => {
    await makeDirectory(channel, FOLDER, FOLDER_MODE);
    await writeFile(channel, BUNDLE_FILE, bundle);
    // Last: it says that the others are there.
    await writeFile(channel, AUTHORITY_FILE, authority);
  });
  if (system !== undefined) await unlessRefused(() => writeFile(channel, system.path, bundle));
}

/** Certificates differ each time that they are signed; their keys do not. */
function isSame(known: string, authority: string): boolean {
  try {
    const [one, other] = [known, authority].map((pem) => new X509Certificate(pem));
    return (
      one !== undefined &&
      other !== undefined &&
      one.subject === other.subject &&
      one.publicKey.equals(other.publicKey)
    );
  } catch {
    return false;
  }
}

/** The bundle may have the authority of a VM that this one is a fork of. */
function withoutOurs(bundle: string): string {
  const from = bundle.indexOf(BEGIN);
  const to = bundle.indexOf(END, from);
  if (from === -1 || to === -1) return bundle === "" || bundle.endsWith("\n") ? bundle : `${bundle}\n`;
  return bundle.slice(0, from) + bundle.slice(to + END.length);
}

/** Undefined where it is not there, or is too long. */
function readFile(channel: GuestChannel, path: string): Promise<string | undefined> {
  return unlessRefused(async () => {
    const { stream } = await startRead(channel, path);
    const pieces: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const piece = await patiently(channel, stream, { deadlineMs: WITHIN_MS }, stream.read());
      if (piece === undefined) return Buffer.concat(pieces).toString("latin1");
      pieces.push(Buffer.from(piece.bytes));
      bytes += piece.bytes.length;
      if (bytes <= BUNDLE_MAX_BYTES) continue;
      stream.cancel();
      return undefined;
    }
  });
}

async function writeFile(channel: GuestChannel, path: string, text: string): Promise<void> {
  const stream = startWrite(channel, path, FILE_MODE);
  await patiently(channel, stream, { deadlineMs: WITHIN_MS }, stream.write(Buffer.from(text, "latin1")));
  stream.end();
  await writtenBytes(channel, stream);
}

async function unlessRefused<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SkerryError && error.cause instanceof GuestRefusal) return undefined;
    throw error;
  }
}
