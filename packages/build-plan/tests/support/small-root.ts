// A root directory with a shell and a few programs of this machine, and the scripts of the builder on it instead of on a disk.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { builderScripts } from "../../src/scripts/builder-scripts.ts";
import type { PlannedStep } from "../../src/build-plan.ts";

/** As `setup/build.ts` has built it. */
const AGENT = join(import.meta.dirname, "../../../../dist/native/agent");
const PROGRAMS = ["sh", "id", "env", "sleep", "ls", "cat", "mkdir", "ln", "rm", "dd", "mount"];

interface StepEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class SmallRoot implements AsyncDisposable {
  readonly folder: string;
  readonly root: string;
  readonly context: string;
  readonly #scripts: ReturnType<typeof builderScripts>;

  private constructor(folder: string, { mount, agent }: { readonly mount: string; readonly agent: string }) {
    this.folder = folder;
    this.root = join(folder, "root");
    this.context = join(folder, "context");
    this.#scripts = builderScripts(`
context=${this.context}
told=${join(folder, "told")}
work=${join(folder, "work")}
agent=${agent}
mount_disk() { ${mount.replace("ROOT", this.root)} || fault builder_failed "nothing is mounted"; }
check_disk() { :; }
`);
  }

  /** Without `programs` there is nothing in it. `mount`: what puts it at /mnt. `agent`: a program, or a function of the shell. */
  static async make({
    programs = PROGRAMS,
    mount = "mount --bind ROOT /mnt",
    agent = AGENT,
  } = {}): Promise<SmallRoot> {
    const small = new SmallRoot(await mkdtemp(join(tmpdir(), "skerry-root-")), { mount, agent });
    await mkdir(small.context);
    await mkdir(join(small.root, "etc"), { recursive: true });
    for (const program of programs) await small.#add(program);
    if (programs.length > 0) {
      await writeFile(
        join(small.root, "etc/passwd"),
        "root:x:0:0::/root:/bin/sh\nweb:x:1234:1235::/home/web:/bin/sh\n",
      );
      await writeFile(join(small.root, "etc/group"), "web:x:1235:\nmore:x:77:other,web\nnone:x:78:webber\n");
    }
    return small;
  }

  async #add(program: string): Promise<void> {
    const file = await realpath(`/bin/${program}`);
    await mkdir(join(this.root, "bin"), { recursive: true });
    await cp(file, join(this.root, "bin", program));
    const { stdout } = spawnSync("ldd", [file], { encoding: "utf8" });
    for (const [, library = ""] of stdout.matchAll(/(\/\S+) \(/g)) {
      await mkdir(dirname(join(this.root, library)), { recursive: true });
      await cp(await realpath(library), join(this.root, library));
    }
  }

  start({ kind, env }: PlannedStep): ChildProcess & { stdout: NonNullable<ChildProcess["stdout"]> } {
    const child = spawn("/bin/sh", ["-c", this.#scripts[kind]], {
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    return child;
  }

  async run(step: PlannedStep): Promise<StepEnd> {
    const child = this.start(step);
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      child.stderr === null ? "" : text(child.stderr),
      once(child, "close") as Promise<[number | null]>,
    ]);
    return { code, stdout, stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
