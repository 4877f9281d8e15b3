// A PostgreSQL of a test's own, that it can stop and start as an operator would.

import { chmod, chown, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./run.ts";

const BINARIES = "/usr/lib/postgresql";
/** PostgreSQL refuses to run as root; Debian's packages make this user. */
const USER = "postgres";

export class Postgres implements AsyncDisposable {
  readonly url: string;
  readonly #folder: string;
  readonly #binaries: string;

  private constructor(folder: string, binaries: string) {
    this.#folder = folder;
    this.#binaries = binaries;
    this.url = `postgresql:///postgres?host=${folder}&user=${USER}`;
  }

  static async start(): Promise<Postgres> {
    const folder = await mkdtemp(join(tmpdir(), "skerry-test-pg-"));
    const [newest] = (await readdir(BINARIES)).toSorted((a, b) => Number(b) - Number(a));
    if (newest === undefined) throw new Error(`no PostgreSQL in ${BINARIES}`);
    const postgres = new Postgres(folder, join(BINARIES, newest, "bin"));
    try {
      const id = async (flag: string) => Number(await run("id", flag, USER));
      await chown(folder, await id("-u"), await id("-g"));
      // Control runs as another user, and connects through the socket in here.
      await chmod(folder, 0o755);
      await postgres.#as(
        "initdb",
        "-D",
        postgres.#data,
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
      );
      await postgres.resume();
      return postgres;
    } catch (error) {
      await postgres[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Ends every connection at once. */
  async stop(): Promise<void> {
    await this.#as("pg_ctl", "-D", this.#data, "-m", "fast", "-w", "stop");
  }

  async resume(): Promise<void> {
    const options = `-k ${this.#folder} -c listen_addresses=`;
    const log = join(this.#folder, "log");
    await this.#as("pg_ctl", "-D", this.#data, "-l", log, "-w", "-o", options, "start");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#as("pg_ctl", "-D", this.#data, "-m", "immediate", "-w", "stop").catch(() => undefined);
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  async #as(program: string, ...args: readonly string[]): Promise<void> {
    await run(
      "setpriv",
      `--reuid=${USER}`,
      `--regid=${USER}`,
      "--clear-groups",
      join(this.#binaries, program),
      ...args,
    );
  }
}
