// A machine with systemd as process 1, for one test (`systemd-machine.sh`). It can be shut down and started again.

import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const execute = promisify(execFile);
const script = join(import.meta.dirname, "systemd-machine.sh");
const TREES = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup"];
const BOOT_DEADLINE_MS = 120_000;
const COMMAND_DEADLINE_MS = 300_000;

export class SystemdMachine implements AsyncDisposable {
  readonly #name: string;
  readonly #folder: string;
  readonly #shared: readonly string[];
  #unshare: number | undefined;

  private constructor(folder: string, shared: readonly string[]) {
    this.#folder = folder;
    this.#name = `skerry-test-${process.pid}-${folder.slice(-6)}`;
    this.#shared = shared;
  }

  /** `shared`: folders of this machine that are its own, too. */
  static async boot(shared: readonly string[]): Promise<SystemdMachine> {
    const folder = await mkdtemp("/tmp/skerry-machine-");
    await execute("mount", ["-t", "tmpfs", "-o", "mode=755", "tmpfs", folder]);
    const machine = new SystemdMachine(folder, shared);
    try {
      await machine.start();
      return machine;
    } catch (error) {
      await machine[Symbol.asyncDispose]();
      throw error;
    }
  }

  async start(): Promise<void> {
    const log = join(this.#folder, "console.log");
    const namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--ipc", "--uts", "--net"];
    // It enters its cgroups before it gets a view of its own of them.
    const enter = (await this.#cgroups()).map((path) => `echo $$ > ${path}/cgroup.procs;`).join(" ");
    const command = `${enter} exec unshare ${namespaces.join(" ")} bash ${script} "$@" >>${log} 2>&1`;
    const child = spawn("bash", ["-c", command, "bash", this.#folder, ...this.#shared], { stdio: "ignore" });
    this.#unshare = child.pid;
    for (const end = Date.now() + BOOT_DEADLINE_MS; Date.now() < end; await sleep(250)) {
      // "degraded": a unit of this machine's distribution does not like it here.
      const state = await this.run("systemctl", "is-system-running").catch((error: unknown) =>
        String((error as { stdout?: string }).stdout),
      );
      if (/^(running|degraded)/.test(state)) return;
    }
    throw new Error(`systemd did not start: ${await readFile(log, "utf8")}`);
  }

  /** As the machine's own shutdown. */
  async shutDown(): Promise<void> {
    await this.run("systemctl", "poweroff").catch(() => undefined);
    for (const end = Date.now() + COMMAND_DEADLINE_MS; Date.now() < end; await sleep(250)) {
      if ((await this.#init()) === undefined) return;
    }
    throw new Error("systemd did not end");
  }

  async run(program: string, ...args: readonly string[]): Promise<string> {
    return this.runWith({}, program, ...args);
  }

  async runWith(
    env: Readonly<Record<string, string>>,
    program: string,
    ...args: readonly string[]
  ): Promise<string> {
    const pid = await this.#init();
    if (pid === undefined) throw new Error("the machine is off");
    const settings = Object.entries({
      PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: "/root",
      ...env,
    });
    const inside = ["env", "-i", ...settings.map(([name, value]) => `${name}=${value}`), program, ...args];
    const enter = ["-t", String(pid), "-m", "-p", "-n", "-C", "-i", "-u", "--", ...inside];
    const running = execute("nsenter", enter, { timeout: COMMAND_DEADLINE_MS });
    // `skerry sandbox exec` reads its standard input to the end.
    running.child.stdin?.end();
    return (await running).stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = await this.#init();
    if (pid !== undefined) process.kill(pid, "SIGKILL");
    for (let look = 0; look < 100 && (await this.#init()) !== undefined; look += 1) await sleep(100);
    for (const path of await this.#cgroups())
      await execute("find", [path, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"]).catch(
        () => undefined,
      );
    await execute("umount", ["-l", this.#folder]);
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Its process 1, as this machine sees it. */
  async #init(): Promise<number | undefined> {
    if (this.#unshare === undefined) return undefined;
    const file = `/proc/${this.#unshare}/task/${this.#unshare}/children`;
    const [pid] = (await readFile(file, "utf8").catch(() => "")).trim().split(" ");
    return pid === undefined || pid === "" ? undefined : Number(pid);
  }

  async #cgroups(): Promise<string[]> {
    const found: string[] = [];
    for (const tree of TREES) {
      if (!(await readdir(tree).catch(() => [] as string[])).includes("cgroup.procs")) continue;
      const path = join(tree, this.#name);
      await mkdir(path, { recursive: true });
      found.push(path);
    }
    return found;
  }
}
