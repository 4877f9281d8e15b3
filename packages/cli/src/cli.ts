// What every client command works with.

import { Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import { isColorWanted, readSettings, type Flags } from "./config.ts";
import { CliError, InterruptedError } from "./errors.ts";
import { Output } from "./output.ts";

export class Cli {
  readonly output = new Output(process.stdout, process.stderr, isColorWanted());
  /** What the process ends with when no command throws. */
  exitCode = 0;
  #interrupt: AbortController | undefined;

  /** The client that the flags of this command, the environment and the saved settings describe. */
  async client(command: Command): Promise<Skerry> {
    const { apiUrl, token, organization } = await readSettings(command.optsWithGlobals<Flags>());
    if (token === undefined)
      throw new CliError("no_token", "No API token is set.", {
        remediation:
          "Run `skerry up` on this machine, which saves one, or pass another server's with --token or SKERRY_API_TOKEN.",
      });
    return new Skerry({ baseUrl: apiUrl, token, organization });
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
