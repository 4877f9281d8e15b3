// `skerry app forward`: the receiver of an app's log.

import type { App } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";

interface ForwardFlags {
  readonly header?: string;
  readonly off?: boolean;
}

export function registerForward(app: Command, cli: Cli): void {
  const command = app
    .command("forward")
    .description("Send the lines of an app's log from now on to a receiver, each at least once.")
    .argument("<app>", "name or id of the app")
    .argument("[url]", "https://HOST/v1/logs (OTLP), or syslog+tls://HOST:PORT; without one it is shown")
    .option("--header <name=secret>", "a header of OTLP whose value is that secret of the organization")
    .option("--off", "send them to none")
    .action(async (name: string, url: string | undefined, flags: ForwardFlags, self: Command) => {
      const wish = wishOf(url, flags);
      const client = await cli.client(self);
      const options = { signal: cli.signal };
      const shown =
        wish === undefined
          ? await client.apps.get(name, options)
          : await client.apps.update(name, { log_forward: wish }, options);
      await cli.output.line(forwardText(shown));
    });
  addExamples(
    command,
    "skerry app forward shop https://logs.example.com/v1/logs --header Authorization=LOGS_TOKEN",
    "skerry app forward shop syslog+tls://logs.example.com:6514",
    "skerry app forward shop --off",
  );
}

/** Undefined: it stays as it is. */
function wishOf(url: string | undefined, { header, off }: ForwardFlags) {
  if ((url !== undefined && off === true) || (url === undefined && header !== undefined))
    throw badFlags("Nothing says, or several words say, what is to become of the log.");
  if (off === true) return null;
  return url === undefined ? undefined : { url, ...(header !== undefined && { header: headerOf(header) }) };
}

function headerOf(text: string): { name: string; secret: string } {
  const [, name, secret] = /^([A-Za-z0-9-]+)=(\w+)$/.exec(text) ?? [];
  if (name !== undefined && secret !== undefined) return { name, secret };
  throw badFlags(`"${text}" is no header with the name of a secret.`);
}

function badFlags(message: string): CliError {
  return new CliError("bad_flags", message, {
    remediation: "Give a URL, with --header Authorization=NAME_OF_A_SECRET where it needs one, or --off.",
    exitCode: exitCodes.usage,
  });
}

/** Receiver of the log of an app, and why it does not get there. */
export function forwardText({ log_forward: forward }: App): string {
  if (forward === null) return "its log goes to no receiver";
  const { url, header, fault } = forward;
  const text = `its log goes to ${url}${header === null ? "" : ` with ${header.name} from ${header.secret}`}`;
  return fault === null
    ? text
    : `${text}, which takes nothing since ${relativeTime(fault.since)}: ${fault.message}`;
}
