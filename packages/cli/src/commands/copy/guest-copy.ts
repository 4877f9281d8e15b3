// The guest's side of a copy: what a path is there, and its own `tar` at the other end.

import { randomBytes } from "node:crypto";
import { posix } from "node:path";
import { formatDuration } from "@skerry/contract/durations";
import { EXECUTE_TIMEOUT_MAX_MS } from "@skerry/contract/bounds";
import type { ExecuteResponse, VmCalls } from "@skerry/sdk";
import { CliError } from "../../errors/errors.ts";
import type { PathKind } from "./landing.ts";
import { isMeant } from "./shell-pattern.ts";

/** A sandbox or a machine, by its id. */
export interface Guest {
  readonly calls: VmCalls;
  readonly id: string;
  readonly signal: AbortSignal;
}

export interface GuestPath {
  readonly kind: PathKind;
  readonly isParentDirectory: boolean;
  /** Behind all links. */
  readonly real: string;
}

const timeout = formatDuration(EXECUTE_TIMEOUT_MAX_MS);

const PROBE = `
if [ -z "$FOLLOW" ] && [ -L "$P" ]; then echo file
elif [ -d "$P" ]; then echo directory
elif [ -f "$P" ]; then echo file
elif [ -e "$P" ]; then echo other
else echo none; fi
if [ -d "$(dirname "$P")" ]; then echo yes; else echo no; fi
readlink -f "$P" || true`;

/** With `followsLinks` a link is what it leads to, otherwise a file. */
export async function probeGuest(guest: Guest, path: string, followsLinks: boolean): Promise<GuestPath> {
  const env = { P: path, FOLLOW: followsLinks ? "1" : "" };
  const answer = await guest.calls.execute(guest.id, PROBE, { env, signal: guest.signal });
  const [kind = "", parent, ...real] = answer.stdout.split("\n");
  if (!isPathKind(kind)) throw guestFailure("look at the path", answer);
  return { kind, isParentDirectory: parent === "yes", real: real.join("\n").replace(/\n$/, "") };
}

function isPathKind(text: string): text is PathKind {
  return text === "file" || text === "directory" || text === "other" || text === "none";
}

/** A path that is there is itself, also with a `*` in its name; otherwise it is a pattern of the shell's. */
const MATCHES = `
if [ -e "$P" ] || [ -L "$P" ]; then printf '%s\\0' "$P"; exit; fi
IFS=
for one in $P; do
  if [ -e "$one" ] || [ -L "$one" ]; then printf '%s\\0' "$one"; fi
done`;
const MATCHES_MAX = 1_000;

/** Entries of the guest with this name, or that match this pattern. */
export async function matchesInGuest(guest: Guest, pattern: string): Promise<readonly string[]> {
  const answer = await guest.calls.execute(guest.id, MATCHES, { env: { P: pattern }, signal: guest.signal });
  if (answer.exit_code !== 0) throw guestFailure("look for the files", answer);
  const found = answer.stdout
    .split("\0")
    .slice(0, -1)
    .filter((path) => isMeant(pattern, path));
  if (found.length <= MATCHES_MAX) return found;
  throw new CliError("invalid_input", `${pattern} is the name of ${found.length} files.`, {
    remediation: `At most ${MATCHES_MAX} are copied one by one; copy their folder.`,
  });
}

/** As tar writes it there: the directory's content as `./…`, anything else under its own name. */
export async function* archiveOfGuest(
  guest: Guest,
  source: { readonly path: string; readonly isContent: boolean },
): AsyncGenerator<Uint8Array> {
  const { path, isContent } = source;
  const env = isContent ? { D: path, N: "." } : { D: posix.dirname(path), N: `./${posix.basename(path)}` };
  const command = 'exec tar -C "$D" -cf - "$N"';
  const { calls, id, signal } = guest;
  const said = new LastWords();
  for await (const event of calls.executeStream(id, command, { env, signal, timeout })) {
    if (event.type === "stdout") yield event.data;
    if (event.type === "stderr") said.add(event.data);
    // With 1 a file changed while it was read, as files do.
    if (event.type === "exit" && event.exit_code > 1)
      throw guestFailure("pack the files", { ...event, stderr: said.text });
  }
}

const PART_BYTES = 16 * 1024 * 1024;

const UNPACK = `
cd "$STAGE" || exit 1
part=0
while [ -f "$part" ]; do cat "$part" || exit 1; rm -f "$part"; part=$((part + 1)); done | tar -x -p -f - -C "$D"`;

/** Sends the archive in parts, because a file has a limit, and unpacks it in the directory, which is there. */
export async function unpackInGuest(
  guest: Guest,
  archive: AsyncIterable<Uint8Array>,
  { folder, onProgress }: { readonly folder: string; readonly onProgress: (bytes: number) => void },
): Promise<void> {
  const { calls, id, signal } = guest;
  const stage = `/var/tmp/.skerry-cp-${randomBytes(9).toString("hex")}`;
  try {
    let number = 0;
    for await (const part of inParts(archive)) {
      await calls.upload(id, `${stage}/${number}`, part, { mode: "0600", signal, onProgress });
      number += 1;
    }
    const env = { STAGE: stage, D: folder };
    const answer = await calls.execute(id, UNPACK, { env, signal, timeout });
    if (answer.exit_code !== 0) throw guestFailure("unpack the files", answer);
  } finally {
    // Also after Ctrl-C. Where the VM is gone, so are the files.
    const own = AbortSignal.timeout(10_000);
    await calls.execute(id, 'rm -rf "$STAGE"', { env: { STAGE: stage }, signal: own }).catch(() => undefined);
  }
}

async function* inParts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes < PART_BYTES) continue;
    yield Buffer.concat(parts);
    [parts, bytes] = [[], 0];
  }
  yield Buffer.concat(parts);
}

const LAST_WORDS_CHARS = 2_000;

/** The end of what a program says, however much that is. */
class LastWords {
  #text = "";

  add(data: Uint8Array): void {
    this.#text = (this.#text + Buffer.from(data).toString()).slice(-LAST_WORDS_CHARS);
  }

  get text(): string {
    return this.#text;
  }
}

function guestFailure(
  what: string,
  answer: Pick<ExecuteResponse, "exit_code" | "timed_out" | "stderr">,
): CliError {
  if (answer.timed_out)
    return new CliError("copy_too_slow", `The VM did not ${what} within ${timeout}.`, {
      remediation: "Copy less at once.",
    });
  return new CliError(
    "copy_failed",
    `The VM could not ${what} (exit code ${answer.exit_code}). Its own words:`,
    {
      lines: answer.stderr.slice(-LAST_WORDS_CHARS).trim().split("\n"),
    },
  );
}
