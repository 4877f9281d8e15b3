// One step of a build: its command as an execution of the build's microVM, whose output becomes lines of the log. The execution lives in the guest
// and is followed from the position that is in the log, so neither a control that dies nor a host that is restarted costs a line.

import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { ExecutionState } from "@skerry/contract/host-api/executions";
import type { Context } from "../context.ts";
import type { OutputEvent } from "../host-client/execution-calls.ts";
import type { HostClient } from "../host-client/host-client.ts";
import type { VmRef } from "../host-client/vm-ref.ts";
import { appendLines } from "./build-log-store.ts";
import { giveRegistryAccess, takeRegistryAccess, usesRegistries } from "./registry-access.ts";
import type { AskedSecret } from "../vms/creation/vm-secrets.ts";
import { giveSecrets, takeSecrets } from "./step-secrets.ts";
import type { Redactor } from "@skerry/contract/secrets/redactor";
import { ofOrganization, redactorOf } from "../secrets/secrets.ts";
import { beginStep, type StepRow } from "./build-store.ts";
import { stepEnv } from "./context-dockerfile.ts";

/** A longer line is cut into several. */
const LINE_MAX_CHARS = 4 * 1024;
/** What is written to the database at once. */
const BATCH_LINES = 500;
/** Of a step's output, in a second and at first. A command that prints faster waits, so that none keeps its host and this process busy. */
const OUTPUT_BYTES_PER_S = 4 * 1024 * 1024;
/** How long a line may wait for others. */
const BATCH_MS = 250;
const NO_TERMINAL = { tty: false, cols: 80, rows: 24 } as const;

export interface StepRun {
  readonly client: HostClient;
  readonly vm: VmRef;
  readonly step: StepRow;
  readonly mayLogIn: boolean;
  /** Secrets of the organization, for a Dockerfile. */
  readonly secrets: readonly AskedSecret[];
  /** Until the build has to end. */
  readonly leftMs: number;
  readonly stop: AbortSignal;
}

/** Resolves when its command has ended. */
export async function runStep(context: Context, run: StepRun): Promise<NonNullable<ExecutionState["exit"]>> {
  const { client, vm, step, leftMs, stop } = run;
  const ref = { vm, execution: step.execution };
  const env = await stepEnv(run, stop);
  if (step.status === "waiting") {
    // Before it is noted as begun: what this replica does not get to, the next one does.
    if (usesRegistries(step)) await giveRegistryAccess(context, run, stop);
    if (step.kind === "dockerfile") await giveSecrets(context, { ...run, orgId: step.org_id }, stop);
    await beginStep(context.db, step);
  }
  // The same id twice is one command.
  await client.executions.start(
    ref,
    {
      command: step.command,
      workdir: null,
      env,
      timeout_ms: Math.max(1, Math.floor(Math.min(step.timeout_ms ?? Infinity, leftMs))),
      stdin: false,
      ...NO_TERMINAL,
      reattach_ms: -1,
    },
    stop,
  );
  const names = run.secrets.map(({ name }) => name);
  const redactor = await redactorOf(context, [ofOrganization({ orgId: step.org_id })], names);
  const output = await client.executions.follow(ref, { after: step.position, hold: true }, stop);
  using log = new StepLog(context, step, redactor);
  const startMs = performance.now();
  for await (const event of output) {
    await log.take(event);
    const aheadMs =
      ((event.position - step.position) / OUTPUT_BYTES_PER_S) * 1_000 - (performance.now() - startMs);
    if (aheadMs > 1_000) await sleep(aheadMs - 1_000, undefined, { signal: stop });
    if (event.kind !== "exit") continue;
    await log.flush();
    if (usesRegistries(step)) await takeRegistryAccess(run, stop);
    if (step.kind === "dockerfile") await takeSecrets(run, stop);
    if (event.state.exit !== null) return event.state.exit;
  }
  throw new SkerryError("host_unavailable", "The output of a step ended before the step.");
}

/** Collects output into lines, and writes them, a moment later, with the position that they reach. A line that has no end yet waits for its end. */
class StepLog implements Disposable {
  readonly #context: Context;
  readonly #step: StepRow;
  readonly #redactor: Redactor;
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  #lines: string[] = [];
  /** The log takes no further line. */
  #isFull = false;
  /** Of all that has come. */
  #position: number;
  /** Of the lines that have their end. */
  #linesPosition: number;
  #timer: NodeJS.Timeout | undefined;
  /** One that has failed is what the next one that is waited for throws. */
  #written: Promise<void> = Promise.resolve();

  constructor(context: Context, step: StepRow, redactor: Redactor) {
    this.#context = context;
    this.#step = step;
    this.#redactor = redactor;
    this.#position = this.#linesPosition = step.position;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#written.catch(() => undefined);
  }

  async take(event: OutputEvent): Promise<void> {
    this.#position = event.position;
    if (this.#isFull) this.#skip();
    else if (event.kind === "dropped") this.#lines.push("Output was dropped here.");
    else if (event.kind === "stdout" || event.kind === "stderr") this.#split(event.bytes);
    else return;
    if (this.#lines.length >= BATCH_LINES) return this.#write();
    this.#timer ??= setTimeout(() => void this.#write().catch(() => undefined), BATCH_MS);
  }

  async flush(): Promise<void> {
    if (this.#isFull) this.#skip();
    const rest = this.#rest + this.#decoder.end();
    if (rest !== "") this.#cut(rest);
    this.#rest = "";
    this.#linesPosition = this.#position;
    await this.#write();
  }

  /** What has come is not even looked at, so that a step that prints without end costs no more than its position. */
  #skip(): void {
    this.#rest = "";
    this.#lines = [];
    this.#linesPosition = this.#position;
  }

  #split(bytes: Buffer): void {
    this.#rest += this.#decoder.write(bytes);
    const lines = this.#rest.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#cut(line.endsWith("\r") ? line.slice(0, -1) : line);
    const cutOfRest = () => this.#redactor.cutOf(this.#rest, LINE_MAX_CHARS);
    for (let cut = cutOfRest(); cut !== undefined; cut = cutOfRest()) {
      this.#cut(this.#rest.slice(0, cut));
      this.#rest = this.#rest.slice(cut);
    }
    this.#linesPosition = this.#position - Buffer.byteLength(this.#rest);
  }

  #cut(line: string): void {
    for (let rest = this.#redactor.redact(line); ; rest = rest.slice(LINE_MAX_CHARS)) {
      this.#lines.push(rest.slice(0, LINE_MAX_CHARS));
      if (rest.length <= LINE_MAX_CHARS) return;
    }
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return (this.#written = this.#written.then(() => this.#writeLines()));
  }

  async #writeLines(): Promise<void> {
    if (this.#lines.length === 0 && !this.#isFull) return;
    // PostgreSQL's text holds no NUL.
    const texts = this.#lines.splice(0).map((line) => line.replaceAll("\0", "\uFFFD"));
    const { build_id: buildId, index: step } = this.#step;
    const position = Math.max(0, this.#linesPosition);
    this.#isFull = await appendLines(this.#context.db, { buildId, step, texts, position });
  }
}
