// `skerry e2b`: what E2B's clients need to be told of this server.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../options.ts";

export function registerE2bCommands(program: Command, cli: Cli): void {
  const e2b = program.command("e2b").description("Use this server with E2B's clients.");
  const command = e2b
    .command("env")
    .description(
      "Print the environment that leads E2B's clients here, as lines for a shell; a token is in it.",
    )
    .action(async (_flags: object, self: Command) => {
      const { apiUrl, token } = cli.settings(self);
      for (const [name, value] of Object.entries(environmentFor(apiUrl, token)))
        await cli.output.line(`export ${name}='${value.replaceAll("'", `'\\''`)}'`);
    });
  addExamples(command, 'eval "$(skerry e2b env)"');
}

function environmentFor(apiUrl: string, token: string): Readonly<Record<string, string>> {
  const base = apiUrl.replace(/\/+$/, "");
  return {
    E2B_API_URL: `${base}/e2b`,
    E2B_SANDBOX_URL: `${base}/e2b/sandbox`,
    // The clients take nothing but hexadecimal digits for a key.
    E2B_API_KEY: `e2b_${Buffer.from(token, "latin1").toString("hex")}`,
  };
}
