// Requests that were answered with 5xx, kept for the log of their app. The proxy has the last ones in its
// memory, from where they are read each second or so: it goes on without this process, and waits for no disk.

import { appendFile, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { EdgeFailure, EDGE_FAILURES_MAX } from "@skerry/contract/host-api/edge";
import { isId } from "@skerry/contract/ids";
import { Compile } from "typebox/compile";

/** Ring in the proxy's memory. */
export const FAILURES_RING = "failures";
const RING_BYTES = 1_048_576;
const PATH_MAX_BYTES = 300;

export const failuresRing = `ring ${FAILURES_RING}
  format timed
  maxlen 2048
  size ${RING_BYTES}`;

/** `app`: what has the id of the app. Only failures are logged. */
export function failureLines(app: string): string {
  const path = `%[var(txn.path),bytes(0,${PATH_MAX_BYTES}),json(ascii)]`;
  return `  log ring@${FAILURES_RING} local0
  option dontlog-normal
  log-format "%[${app}]|%ST|%ts|%b/%s|%Tt|%ID|%HM|${path}"`;
}

interface Told {
  readonly app: string;
  /** PLACE/SEAT. */
  readonly seat: string;
  readonly failure: Omit<EdgeFailure, "vm">;
}

const LINE = /^<\d+>(\S+) (app_[a-z0-9]+)\|(5\d\d)\|(..)\|([^|]*)\|\+?(-?\d+)\|([^|]*)\|([^|]*)\|(.*)$/;

/** Lines that tell of no app are left out. */
export function toldFailures(text: string): Told[] {
  return text.split("\n").flatMap((line) => {
    const [, at, app, status, end = "", seat = "", ms, id = "", method = "", path = ""] =
      LINE.exec(line) ?? [];
    const time = new Date(at ?? "");
    if (app === undefined || Number.isNaN(time.getTime())) return [];
    const failure = {
      ...{ at: time.toISOString(), status: Number(status), end, ms: Math.max(0, Number(ms)) },
      ...{ request_id: id.slice(0, 64), method: method.slice(0, 32), path: unescaped(path) },
    };
    return [{ app, seat, failure }];
  });
}

function unescaped(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}

/** Bytes of one file of an app, of which there are two. */
const SEGMENT_MAX_BYTES = 128 * 1024;
/** Failures of an app that one reading keeps, the last ones: no more than fit into a file. */
const READING_MAX = 250;
const KEPT_MS = 7 * 86_400_000;
const SWEEP_EVERY_MS = 3_600_000;
const stored = Compile(EdgeFailure);

export class Failures {
  readonly #folder: string;
  /** Keys of failures that the last reading had; undefined: this process has read none yet. */
  #seen: ReadonlySet<string> | undefined;
  /** Time of the next sweep, by this process's clock. */
  #sweepAtMs = 0;

  constructor(folder: string) {
    this.#folder = join(folder, "failures");
  }

  /** `text`: the whole ring. `vms`: the one of each seat. */
  async note(text: string, vms: ReadonlyMap<string, { readonly vm: string }>): Promise<void> {
    const told = toldFailures(text);
    const seen = this.#seen ?? (await this.#keptOf(new Set(told.map(({ app }) => app))));
    const fresh = told.filter(({ app, failure }) => !seen.has(keyOf(app, failure)));
    this.#seen = new Set(told.map(({ app, failure }) => keyOf(app, failure)));
    for (const [app, lines] of Map.groupBy(fresh, (one) => one.app)) {
      const last = lines.slice(-READING_MAX);
      await this.#append(
        app,
        last.map(({ failure, seat }) => ({ ...failure, vm: vms.get(seat)?.vm ?? null })),
      );
    }
  }

  /** Keys of those that a process before has kept: the ring outlives it. */
  async #keptOf(apps: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const kept = new Set<string>();
    for (const app of apps) for (const one of await this.read(app, 0)) kept.add(keyOf(app, one));
    return kept;
  }

  /** The last ones. A line that is torn is left out. */
  async read(app: string, sinceMs: number): Promise<EdgeFailure[]> {
    if (!isId("app", app)) return [];
    const texts = await Promise.all(
      [this.#path(app, true), this.#path(app, false)].map((path) => readFile(path, "utf8").catch(() => "")),
    );
    const failures = texts
      .join("\n")
      .split("\n")
      .flatMap((line) => {
        const one = parsed(line);
        return stored.Check(one) && Date.parse(one.at) >= sinceMs ? [one] : [];
      });
    return failures.slice(-EDGE_FAILURES_MAX);
  }

  /** Forgets what is too old, once in an hour. */
  async sweep(): Promise<void> {
    if (performance.now() < this.#sweepAtMs) return;
    this.#sweepAtMs = performance.now() + SWEEP_EVERY_MS;
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const path = join(this.#folder, name);
      const { mtimeMs } = await stat(path);
      if (Date.now() - mtimeMs > KEPT_MS) await rm(path, { force: true });
    }
  }

  async #append(app: string, failures: readonly EdgeFailure[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = this.#path(app, false);
    const { size } = await stat(path).catch(() => ({ size: 0 }));
    if (size > SEGMENT_MAX_BYTES) await rename(path, this.#path(app, true));
    await appendFile(path, failures.map((one) => `${JSON.stringify(one)}\n`).join(""), { mode: 0o600 });
  }

  #path(app: string, isFormer: boolean): string {
    return join(this.#folder, isFormer ? `${app}.former` : app);
  }
}

function keyOf(app: string, { at, request_id: id }: Pick<EdgeFailure, "at" | "request_id">): string {
  return `${app} ${at} ${id}`;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
