// What a user would pick instead on this machine: podman, with the same Debian root as image. It has a store of its own below the
// cache, so that nothing of the user's is touched.

import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../tests/support/run.ts";
import { finished } from "./program.ts";

const IMPORT_DEADLINE_MS = 180_000;
const RUN_DEADLINE_MS = 60_000;
const BUILD_DEADLINE_MS = 600_000;
/** The limits are what this program may raise them to where it is not the machine's real root; they cost nothing elsewhere. */
const FLAGS = ["--runtime", "runc", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"];

export class Podman implements AsyncDisposable {
  readonly #global: readonly string[];
  readonly #image: string;
  readonly #runFolder: string;
  #container: string | undefined;

  private constructor(options: { global: readonly string[]; image: string; runFolder: string }) {
    this.#global = options.global;
    this.#image = options.image;
    this.#runFolder = options.runFolder;
  }

  /** Imports the template's root unless that was done before. A string says why there is no podman here. */
  static async open({ cache, assets }: { cache: string; assets: string }): Promise<Podman | string> {
    for (const program of ["podman", "runc"])
      if (!(await isInstalled(program)))
        return `${program} is not installed (Debian packages podman and runc)`;
    const images = await readdir(join(assets, "images"));
    const root = images.find((name) => /^base-.*\.ext4$/.test(name));
    if (root === undefined) return "the template base has no image";
    // The store remembers what the other folders are called, so they have the same names in every run.
    const store = join(cache, "podman");
    const runFolder = join(cache, "podman-run");
    await rm(runFolder, { recursive: true, force: true });
    await mkdir(store, { recursive: true });
    const image = `localhost/skerry-bench:${root.replace(".ext4", "")}`;
    const global = ["--root", store, "--runroot", runFolder, "--tmpdir", join(runFolder, "tmp")];
    const podman = new Podman({ global, image, runFolder });
    try {
      await podman.#import(join(assets, "images", root));
      await podman.run();
      return podman;
    } catch (error) {
      await podman[Symbol.asyncDispose]();
      return `podman does not work here: ${error instanceof Error ? error.message.trim().slice(0, 300) : String(error)}`;
    }
  }

  async run(): Promise<void> {
    await this.#podman("run", "--rm", ...FLAGS, this.#image, "true");
  }

  async exec(): Promise<void> {
    this.#container ??= (
      await this.#podman("run", "--detach", ...FLAGS, this.#image, "sleep", "infinity")
    ).trim();
    await this.#podman("exec", this.#container, "true");
  }

  /** Builds the folder's `Dockerfile`, whose `FROM base` is the same Debian root, without a cache and a network. What it made is removed at once. */
  async build(folder: string): Promise<void> {
    const args = ["--quiet", "--no-cache", "--network", "none", ...FLAGS, "--build-context"];
    const base = `base=container-image://${this.#image}`;
    const id = await finished("podman", [...this.#global, "build", ...args, base, folder], BUILD_DEADLINE_MS);
    await this.#podman("rmi", id.trim());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#container !== undefined)
      await this.#podman("rm", "--force", "--time", "0", this.#container).catch(() => undefined);
    const store = this.#global[1] ?? "";
    // Podman leaves its store mounted on itself.
    await run("umount", join(store, "overlay")).catch(() => undefined);
    await rm(this.#runFolder, { recursive: true, force: true }).catch(() => undefined);
  }

  async #import(file: string): Promise<void> {
    const known = await this.#podman("image", "exists", this.#image).then(
      () => true,
      () => false,
    );
    if (known) return;
    const mount = await mkdtemp("/tmp/skerry-root-");
    await run("mount", "-o", "loop,ro,noload", file, mount);
    try {
      const script = 'tar -C "$0" -c . | podman "$@"';
      const args = [...this.#global, "import", "-", this.#image];
      await finished("sh", ["-c", script, mount, ...args], IMPORT_DEADLINE_MS);
    } finally {
      await run("umount", mount);
      await rm(mount, { recursive: true });
    }
  }

  #podman(...args: readonly string[]): Promise<string> {
    return finished("podman", [...this.#global, ...args], RUN_DEADLINE_MS);
  }
}

function isInstalled(program: string): Promise<boolean> {
  return run("sh", "-c", 'command -v "$0"', program).then(
    () => true,
    () => false,
  );
}
