// What is done in the guest of a template before it is frozen: commands of one that was built get their user and their folder, and its start command,
// or that of a built-in one, runs and has become ready.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError, type ErrorContext } from "@skerry/contract/errors";
import type { ReadyCondition, TemplateImage } from "@skerry/contract/host-api/templates";
import type { Logger } from "pino";
import { configure, clockAndEntropy, connectPort, isIdle, outputOf, runCommand } from "../guest/agent.ts";
import { ChannelClosed, type GuestChannel } from "../guest/channel.ts";
import { statEntry } from "../guest/entries.ts";
import { patiently } from "../guest/patience.ts";
import type { OwnTemplate } from "./own-templates.ts";

/** The second where the template's user may not write the first. */
const LOGS = ["/var/log/skerry-start.log", "/tmp/skerry-start.log"] as const;
const LOG_TAIL_BYTES = 4_096;
const START_DEADLINE_MS = 10_000;
/** Who resumes a sandbox or starts a machine waits for it, on top of the boot. */
const READY_AFTER_BOOT_MS = 60_000;
const ASK_EVERY_MS = 250;
const HTTP_DEADLINE_MS = 5_000;
const ANSWER_MAX_BYTES = 64;

/** What a guest is called while its template is frozen, for all time before it is a clone. */
const FROZEN_HOSTNAME = "sandbox-0000000000000000000000";

/** Throws `guest_failed` where the command cannot be run, and `template_start_failed` where its condition does not come true. */
export async function prepareOwn(channel: GuestChannel, template: OwnTemplate): Promise<void> {
  const { env, user, workdir, start } = template;
  await configure(channel, {
    ...{ hostname: FROZEN_HOSTNAME, machine_id: "0".repeat(32), ...clockAndEntropy(), env },
    ...(user === null ? {} : { user }),
    ...(workdir === null ? {} : { workdir }),
  });
  if (start !== undefined) await startIn(channel, start);
}

/** Throws as `prepareOwn` does. */
export async function startIn(
  channel: GuestChannel,
  start: NonNullable<TemplateImage["start"]>,
): Promise<void> {
  await runCommand(channel, inBackground(start.command), START_DEADLINE_MS).catch((error: unknown) => {
    throw new SkerryError("guest_failed", "The start command of the template could not be run.", {
      remediation: "It needs /bin/sh in the image, and the template's user and workdir.",
      cause: error,
    });
  });
  if (start.ready !== undefined) await untilReady(channel, start.ready, start.timeout_ms);
}

/**
 * In a VM that has booted from its own disk, and so without what the template had in memory. Its owner may have changed what the command needs, so a
 * command that does not start or become ready is told in the log, and the VM is there all the same.
 */
export async function startAgain(
  channel: GuestChannel,
  start: NonNullable<TemplateImage["start"]>,
  log: Logger,
): Promise<void> {
  const timeout_ms = Math.min(start.timeout_ms, READY_AFTER_BOOT_MS);
  await startIn(channel, { ...start, timeout_ms }).catch((error: unknown) => {
    if (!(error instanceof SkerryError)) throw error;
    log.warn({ err: error }, "the start command of a template did not become ready after a boot");
  });
}

/** A session of its own, which goes on when this command ends. What it prints goes to the first place that may be written, and its exit code beside it. */
function inBackground(command: string): string {
  const quoted = `'${command.replaceAll("'", "'\\''")}'`;
  const run = `rm -f "$log.exit"; { sh -c ${quoted}; echo $? >"$log.exit"; } >"$log" 2>&1 </dev/null &`;
  return `for log in ${LOGS.join(" ")} /dev/null; do (: >>"$log") 2>/dev/null && break; done; ${run}`;
}

async function untilReady(channel: GuestChannel, ready: ReadyCondition, timeoutMs: number): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  let last: unknown;
  let isOver = false;
  while (performance.now() < endMs) {
    const fault = await check(channel, ready, Math.max(1, endMs - performance.now())).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if (fault?.error instanceof ChannelClosed) throw fault.error;
    // Also where the condition holds, which may be that some time has passed.
    const { exitCode, log } = await readLog(channel);
    if (exitCode !== undefined && exitCode > 0)
      throw startFailed(`ended with ${exitCode} before the template was ready`, { exit_code: exitCode, log });
    if (fault === undefined) return;
    last = fault.error;
    if (isOver)
      throw startFailed(
        `ended with 0, and no process is left that could make the template ready: ${said(last)}`,
        { exit_code: 0, log },
      );
    // It is asked for once more, because it may have come true with the end.
    isOver = exitCode === 0 && ready.kind !== "command" && (await isKnownIdle(channel));
    await sleep(ASK_EVERY_MS);
  }
  const { log } = await readLog(channel);
  throw startFailed(`was not ready within ${timeoutMs} ms: ${said(last)}`, { log });
}

/** A guest that does not answer is not known to be idle. */
function isKnownIdle(channel: GuestChannel): Promise<boolean> {
  return Promise.race([isIdle(channel), sleep(START_DEADLINE_MS, false, { ref: false })]);
}

function startFailed(how: string, context: ErrorContext): SkerryError {
  return new SkerryError("template_start_failed", `The start command of the template ${how}.`, { context });
}

interface StartLog {
  /** Undefined while it runs. One that has ended with 0 may have left another process behind. */
  readonly exitCode: number | undefined;
  /** The end of what it has printed. */
  readonly log: string;
}

/** What the image says about itself: shown, and never relied on. Nothing where it has no programs for it. */
async function readLog(channel: GuestChannel): Promise<StartLog> {
  const files = LOGS.map(
    (log) =>
      `[ ! -f ${log} ] || { cat ${log}.exit 2>/dev/null; echo; tail -c ${LOG_TAIL_BYTES} ${log}; exit; }`,
  );
  const bounds = { timeoutMs: START_DEADLINE_MS, maxBytes: 2 * LOG_TAIL_BYTES };
  const printed = await outputOf(channel, files.join("; "), bounds).catch((error: unknown) => {
    if (error instanceof ChannelClosed) throw error;
    return "";
  });
  const [, code, log = ""] = /^(?:(\d{1,3})\n)?\n([^]*)$/.exec(printed) ?? [];
  return { exitCode: code === undefined ? undefined : Number(code), log: log.trimEnd() };
}

async function check(channel: GuestChannel, ready: ReadyCondition, leftMs: number): Promise<void> {
  switch (ready.kind) {
    case "file":
      await statEntry(channel, ready.path, true);
      return;
    case "command":
      return runCommand(channel, ready.command, Math.ceil(leftMs));
    case "port":
      (await connectPort(channel, ready.port)).cancel();
      return;
    case "http":
      return askHttp(channel, ready);
  }
}

async function askHttp(
  channel: GuestChannel,
  { port, path }: Extract<ReadyCondition, { readonly kind: "http" }>,
): Promise<void> {
  const stream = await connectPort(channel, port);
  try {
    await stream.write(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`));
    let answer = "";
    const read = async (): Promise<void> => {
      while (answer.length < ANSWER_MAX_BYTES && !answer.includes("\r\n")) {
        const part = await stream.read();
        if (part === undefined) return;
        answer += part.bytes.toString("latin1");
      }
    };
    await patiently(channel, stream, { deadlineMs: HTTP_DEADLINE_MS }, read());
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1] ?? 0);
    if (status < 200 || status > 399) throw new Error(`${path} was answered with ${status}`);
  } finally {
    stream.cancel();
  }
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : "it was never asked";
}
