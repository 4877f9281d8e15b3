// Every way in which a command can end that is not success, and what the user gets to read about it.

import { SkerryError } from "@skerry/contract/errors";
import { SkerryApiError, SkerryConnectionError, SkerryInputError, SkerryStatusError } from "@skerry/sdk";
import { CommanderError } from "commander";
import type { Failure } from "./failure.ts";
import { remedyOf } from "./remedies.ts";
import { systemFailure } from "./system-words.ts";

/**
 * `exec` ends with its command's own code instead, `timedOut` where the command was killed at its timeout, and `notRun` where Skerry has
 * failed and not the command, so that a script can tell the two apart.
 */
export const exitCodes = { ok: 0, failed: 1, usage: 2, timedOut: 124, notRun: 125, brokenPipe: 141 } as const;

/** An end that the user must hear about, or (without `failure`) one that needs no words. */
export interface Ending {
  readonly exitCode: number;
  readonly failure?: Failure;
}

/** A failure that the command line itself found. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: string;
  readonly remediation: string | undefined;
  readonly lines: readonly string[] | undefined;
  /** Undefined: that of any failure of the command. */
  readonly exitCode: number | undefined;

  constructor(
    code: string,
    message: string,
    details: {
      readonly remediation?: string;
      readonly lines?: readonly string[];
      readonly exitCode?: number;
    } = {},
  ) {
    super(message);
    this.code = code;
    this.remediation = details.remediation;
    this.lines = details.lines;
    this.exitCode = details.exitCode;
  }
}

/** The user, or the machine, asked this process to stop. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
  /** 128 + the signal's number, as shells have it. */
  readonly exitCode: number;

  constructor(signal: "SIGINT" | "SIGTERM") {
    super(`stopped by ${signal}`);
    this.exitCode = signal === "SIGINT" ? 130 : 143;
  }
}

/** `failed`: the exit code of a failure that has none of its own. */
export function endingOf(error: unknown, failed: number): Ending {
  if (error instanceof InterruptedError) return { exitCode: error.exitCode };
  // Commander has already written its message, or the help that was asked for.
  if (error instanceof CommanderError)
    return { exitCode: error.exitCode === 0 ? exitCodes.ok : exitCodes.usage };
  const silent = error instanceof Error ? silentEndOf(error) : undefined;
  if (silent !== undefined) return { exitCode: silent };
  if (error instanceof CliError) return { exitCode: error.exitCode ?? failed, failure: error };
  return { exitCode: isUsage(error) ? exitCodes.usage : failed, failure: failureOf(error) };
}

/** Codes by which the API says that a value is malformed. */
const malformed: ReadonlySet<string> = new Set([
  ...["invalid_cidr", "invalid_domain", "invalid_duration", "invalid_env", "invalid_path", "invalid_port"],
  "unknown_size",
]);

/** Whether the command line has a value that cannot be, whoever found it: this process or the API. */
function isUsage(error: unknown): boolean {
  if (error instanceof SkerryInputError) return error.code === "invalid_input";
  return error instanceof SkerryApiError && malformed.has(error.code);
}

/** Exit code of an end that the user has caused and knows of. */
function silentEndOf(error: Error): number | undefined {
  // A Ctrl-C at a question: readline takes the key, and no signal comes.
  if (error.name === "AbortError" && error.message === "Aborted with Ctrl+C")
    return new InterruptedError("SIGINT").exitCode;
  // The reader of our output (`| head`) has ended.
  return "code" in error && error.code === "EPIPE" ? exitCodes.brokenPipe : undefined;
}

/** Also for commands that go on after a failure, such as `destroy` with several ids. */
export function failureOf(error: unknown): Failure {
  if (error instanceof SkerryApiError) return apiFailure(error);
  if (
    error instanceof SkerryConnectionError ||
    error instanceof SkerryInputError ||
    error instanceof SkerryStatusError ||
    error instanceof CliError
  )
    return error;
  // What a plan, made here, finds wrong with a folder.
  if (error instanceof SkerryError)
    return { code: error.code, message: error.message, remediation: error.remediation };
  const ofSystem = error instanceof Error ? systemFailure(error) : undefined;
  if (ofSystem !== undefined) return ofSystem;
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { code: "unexpected", message, remediation: "This is a defect of skerry; please report it." };
}

function apiFailure(error: SkerryApiError): Failure {
  return {
    code: error.code,
    message: error.message,
    remediation: remedyOf(error.code, error.remediation),
    // Of use only to readers of the server's log.
    requestId: error.status >= 500 ? error.requestId : undefined,
  };
}
