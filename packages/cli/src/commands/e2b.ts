// `skerry e2b`: what E2B's clients need to be told of this server.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../input/options.ts";

export function registerE2bCommands(program: Command, cli: Cli): void {
  const e2b = program.command("e2b").description("Use this server with E2B's clients.");
  const command = e2b
    .command("env")
    .description(
      "Print the environment that leads E2B's clients here, as lines for a shell; a token is in it.",
    )
    .option("--json", "print JSON, an object of the variables")
    .action(async ({ json }: { readonly json?: boolean }, self: Command) => {
      const { apiUrl, token } = cli.settings(self);
      const environment = environmentFor(apiUrl, token);
      if (json === true) return cli.output.json(environment);
      for (const [name, value] of Object.entries(environment))
        await cli.output.line(`export ${name}='${value.replaceAll("'", `'\\''`)}'`);
      await cli.output.note(
        `\`getHost\` gives a name of the server's sandbox domain. Where it has none, the name ends in ${NO_DOMAIN}, which is no host, and not in E2B's own domain.`,
      );
    });
  addExamples(command, 'eval "$(skerry e2b env)"', "skerry e2b env --json | jq -r .E2B_API_KEY");
}

/**
 * Never resolved (RFC 2606): without it the clients take E2B's cloud for the host of a port, and send what is
 * meant for a sandbox there.
 */
const NO_DOMAIN = "no-sandbox-domain.invalid";

function environmentFor(apiUrl: string, token: string): Readonly<Record<string, string>> {
  const base = apiUrl.replace(/\/+$/, "");
  return {
    E2B_API_URL: `${base}/e2b`,
    E2B_SANDBOX_URL: `${base}/e2b/sandbox`,
    // A sandbox domain of the server comes with each sandbox, and goes before this.
    E2B_DOMAIN: NO_DOMAIN,
    // The clients take nothing but hexadecimal digits for a key.
    E2B_API_KEY: `e2b_${Buffer.from(token, "latin1").toString("hex")}`,
  };
}
