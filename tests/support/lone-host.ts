// A host without a control plane, for tests of what a host itself promises: its own state folder and addresses, and calls as control
// makes them.

import { spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { appendFile, chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { FrameParser, frameTypes, parseJsonPayload } from "@skerry/contract/frames";
import type { Vm } from "@skerry/contract/host-api/vm";
import { nothingWaits, until } from "./platform.ts";
import { imageCache } from "./test-cache.ts";

const root = join(import.meta.dirname, "../..");

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

export class LoneHost {
  readonly folder: string;
  /** What its namespaces and processes are named after. */
  readonly instance: string;
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;

  private constructor(folder: string, assets: string, env: Readonly<Record<string, string>>) {
    const state = join(folder, "host");
    this.folder = folder;
    this.instance = `skerry-${createHash("sha256").update(state).digest("hex").slice(0, 6)}`;
    this.#env = {
      PATH: process.env["PATH"] ?? "",
      SKERRY_HOST_STATE: state,
      SKERRY_HOST_SOCKET: join(folder, "host.sock"),
      SKERRY_HOST_ASSETS: assets,
      SKERRY_IMAGE_CACHE: imageCache,
      SKERRY_NATIVE: join(root, "dist/native"),
      SKERRY_TEMPLATES: join(root, "templates"),
      SKERRY_WARM_MIN: "0",
      SKERRY_READY_SLOTS: nothingWaits.SKERRY_READY_SLOTS,
      SKERRY_LOG_LEVEL: "error",
      ...env,
    };
  }

  /** Whoever opens it closes it. */
  static async open(assets: string, env: Readonly<Record<string, string>> = {}): Promise<LoneHost> {
    const folder = await mkdtemp("/tmp/skerry-test-");
    await chmod(folder, 0o711);
    const host = new LoneHost(folder, assets, env);
    const register = process.env["SKERRY_TEST_REGISTER"];
    if (register !== undefined) await appendFile(register, `${host.instance} ${folder}\n`);
    await host.start();
    return host;
  }

  async start(): Promise<void> {
    this.#child = this.#run("serve");
    await until("the host answers", () =>
      this.call("GET", "/info").then(
        () => true,
        () => false,
      ),
    );
  }

  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  /** As `skerry down` does it. */
  async takeDown(): Promise<void> {
    await this.end("SIGTERM");
    const [code] = (await once(this.#run("clear"), "exit")) as [number | null];
    if (code !== 0) throw new Error(`clear ended with ${code}`);
  }

  async close(): Promise<void> {
    await this.takeDown();
    await rm(this.folder, { recursive: true, force: true });
  }

  async call<T = Vm>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const answer = await this.open(method, path, body);
    const bytes = await buffer(answer);
    const json = answer.headers["content-type"]?.startsWith("application/json") === true;
    // Whoever calls knows what the host answers there.
    const content = (json ? JSON.parse(bytes.toString()) : bytes) as T;
    return { status: answer.statusCode ?? 0, body: content };
  }

  /** The answer as it comes. */
  open(method: string, path: string, body?: unknown): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { "content-type": "application/json" };
      const socketPath = join(this.folder, "host.sock");
      const call = request({ socketPath, method, path, headers, agent: false }, resolve);
      call.once("error", reject);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Output of a command in a VM; its failure is an error. The deadline is against hanging. */
  async execute(id: string, executionId: string, command: string, timeoutMs = 300_000): Promise<string> {
    const { status, body } = await this.call<Buffer>("POST", `/vms/${id}/execute`, {
      ...{
        execution_id: executionId,
        command,
        workdir: null,
        env: {},
        timeout_ms: timeoutMs,
        output_limit: 0,
      },
    });
    const frames = status === 200 ? [...new FrameParser().push(body)] : [];
    const end = frames.at(-1);
    if (end?.type !== frameTypes.close || parseJsonPayload(end.payload)["exit_code"] !== 0)
      throw new Error(`"${command}" failed: ${body.toString("latin1")}`);
    return frames
      .filter(({ type }) => type === frameTypes.data)
      .map(({ payload }) => payload.toString())
      .join("");
  }

  /** Without its samples, which come with the minute. */
  async filesWithoutSamples(id: string): Promise<string[]> {
    return (await this.files(id)).filter((name) => name !== "samples");
  }

  /** Files of a VM's folder; none where it has no folder. */
  files(id: string): Promise<string[]> {
    return readdir(this.#vm(id)).then(
      (names) => names.toSorted(),
      () => [],
    );
  }

  async qemuPid(id: string): Promise<number> {
    const text = await readFile(join(this.#vm(id), "vm.json"), "utf8");
    return (JSON.parse(text) as { process: { pid: number } }).process.pid;
  }

  #vm(id: string): string {
    return join(this.folder, "host/vms", id);
  }

  #run(command: "serve" | "clear"): ChildProcess {
    return spawn(process.execPath, [join(root, "dist/host.js"), command], {
      env: this.#env,
      stdio: ["ignore", "ignore", "inherit"],
    });
  }
}
