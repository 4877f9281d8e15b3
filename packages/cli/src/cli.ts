// What every client command works with.

import { idKinds } from "@skerry/contract/ids";
import { parseTiming, SERVER_TIMING } from "@skerry/contract/server-timing";
import { Skerry, SkerryApiError, type Retry } from "@skerry/sdk";
import type { Command } from "commander";
import {
  isAnimationWanted,
  isColorWanted,
  isQuiet,
  readSaved,
  readSettings,
  type Flags,
  type Settings,
} from "./config.ts";
import { CliError, exitCodes, failureOf, InterruptedError } from "./errors/errors.ts";
import { Output } from "./output/output.ts";
import { idMeant, organizationTarget } from "./targets.ts";
import { Waits } from "./output/waits.ts";

interface CliOptions {
  readonly isJson?: boolean;
  readonly hasSeparator?: boolean;
}

export class Cli {
  readonly output: Output;
  readonly waits: Waits;
  /** What the process ends with when no command throws. */
  exitCode = 0;
  /** What the process ends with when one does, unless the failure has a code of its own. */
  failedExitCode: number = exitCodes.failed;
  #interrupt: AbortController | undefined;

  /** Whether `--` stands among the arguments, behind which flags are another program's. */
  readonly hasSeparator: boolean;

  /** With `isJson`, standard error holds JSON alone: failures, and notes about what was done. */
  constructor({ isJson = false, hasSeparator = false }: CliOptions = {}) {
    this.hasSeparator = hasSeparator;
    this.output = new Output(process.stdout, process.stderr, { isColorWanted: isColorWanted(), isJson });
    this.waits = new Waits({
      stream: process.stderr,
      isAnimated: process.stderr.isTTY && isAnimationWanted() && !isQuiet(),
      isSilent: isJson || isQuiet(),
      // Nothing depends on it, so a failure to write it is none of the command's.
      line: (text) => void this.output.note(text).catch(() => undefined),
    });
  }

  /** What the flags of this command, the environment and the saved settings say. */
  settings(command: Command): Settings & { readonly token: string } {
    const { token, ...settings } = readSettings(command.optsWithGlobals<Flags>());
    if (token === undefined) throw noToken(settings.apiUrl);
    return { ...settings, token };
  }

  /** The client that the flags of this command, the environment and the saved settings describe. */
  async client(command: Command): Promise<Skerry> {
    const { apiUrl, token, organization } = this.settings(command);
    const onRetry = (retry: Retry) => this.waits.tell(retryText(retry));
    const fetch: typeof globalThis.fetch = async (input, init) => {
      // The answer of a stream begins with its first event, and a command may work for long before it has something to say.
      const isStream = new Headers(init?.headers).get("accept") === "text/event-stream";
      if (!isStream) this.waits.beginRequest(`Waiting for ${apiUrl}`);
      const response = await globalThis.fetch(input, init);
      const { freeze = 0 } = parseTiming(response.headers.get(SERVER_TIMING));
      if (freeze >= WORTH_A_WORD_MS) this.waits.explain(freezeText(freeze));
      // One that it cannot serve now may be sent again, which is the same wait.
      if (response.ok) this.waits.endRequest();
      return response;
    };
    const options = { baseUrl: apiUrl, token, onRetry, fetch };
    // The API takes an id; a person may have given the name.
    if (organization === undefined || organization.startsWith(`${idKinds.organization}_`))
      return new Skerry({ ...options, organization });
    const own = organizationTarget(new Skerry(options), this.signal);
    return new Skerry({ ...options, organization: await idMeant(own, organization) });
  }

  /** Says what a command failed with, and does not end it. */
  async fail(error: unknown): Promise<void> {
    this.waits.endRequest();
    await this.output.failure(failureOf(error));
  }

  /**
   * Aborts at Ctrl-C or SIGTERM, so that requests end in order; the second one ends the process as usual. Only
   * commands that ask for it change what the signals do.
   */
  get signal(): AbortSignal {
    if (this.#interrupt === undefined) {
      const interrupt = new AbortController();
      for (const name of ["SIGINT", "SIGTERM"] as const)
        process.once(name, () => interrupt.abort(new InterruptedError(name)));
      this.#interrupt = interrupt;
    }
    return this.#interrupt.signal;
  }
}

function noToken(apiUrl: string): CliError {
  const { api_url: savedFor, token } = readSaved();
  if (token !== undefined && savedFor !== undefined)
    return new CliError(
      "no_token",
      `No API token is set for ${apiUrl}: the one that is saved is for ${savedFor}.`,
      {
        remediation: `A saved token is sent to its own server alone. Save one with \`skerry login --api-url ${apiUrl}\`, or pass it with SKERRY_API_TOKEN or --token.`,
      },
    );
  return new CliError("no_token", "No API token is set.", {
    remediation:
      "Save one with `skerry login`, or pass it with SKERRY_API_TOKEN or --token; `skerry up` saves one on the server's machine.",
  });
}

const WORTH_A_WORD_MS = 500;

function freezeText(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s of that froze the template for this size, which the host has from now on.`;
}

/** Why a call is sent again, for the person who waits. */
function retryText({ error, waitMs }: Retry): string {
  const code = error instanceof SkerryApiError ? error.code : "connection_failed";
  const said = error instanceof Error ? error.message.replace(/\.$/, "") : code;
  const why: Readonly<Record<string, string>> = {
    connection_failed: "the server cannot be reached; trying again",
    database_unavailable: "the server's database does not answer; trying again",
    // Which host, and whether it is away at all, the server knows.
    host_unavailable: `${said}; trying again`,
    host_draining: `${said}; trying again`,
    idempotency_in_progress: "the server still works on it",
    rate_limited: `the rate limit is reached; going on in ${Math.ceil(waitMs / 1_000)} s`,
    shutting_down: "the server is being restarted; trying again",
  };
  return why[code] ?? `${code}; trying again`;
}
