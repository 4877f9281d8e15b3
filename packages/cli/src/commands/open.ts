// `skerry open`: the dashboard in the browser, logged in without a token being pasted. The code in the address works once and for a minute: the address
// passes through another program's arguments, which other users of the machine can see.

import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { CliError } from "../errors/errors.ts";
import { dashboardOf } from "../config.ts";
import { addExamples } from "../input/options.ts";

interface OpenFlags {
  readonly app?: string;
  readonly print?: boolean;
  readonly json?: boolean;
}

/** A program that has not failed by then shows the page; some run until their window is closed. */
const FAILED_WITHIN_MS = 3_000;

export function registerOpenCommand(program: Command, cli: Cli): void {
  const command = program
    .command("open")
    .description(
      "Open the dashboard in the browser, logged in with your token's rights, or the page of an app.",
    )
    .option("--app <name>", "the page of this app instead of the dashboard")
    .option(
      "--print",
      "print the address instead; that of the dashboard logs one browser in, once, within 60 s",
    )
    .option("--json", "print the address as JSON, and open nothing")
    .action((flags: OpenFlags, self: Command) =>
      flags.app === undefined
        ? openDashboard(cli, flags, self)
        : openApp(cli, self, { ...flags, app: flags.app }),
    );
  addExamples(
    command,
    "skerry open",
    "skerry open --print",
    "skerry open --org acme",
    "skerry open --app shop",
  );
}

async function openDashboard(cli: Cli, { print, json }: OpenFlags, self: Command): Promise<void> {
  const client = await cli.client(self);
  const { code, expires_at } = await client.logins.createCode({ signal: cli.signal });
  const page = dashboardOf(cli.settings(self));
  const url = `${page}login#code=${code}`;
  if (json === true) return cli.output.json({ url, expires_at });
  if (print === true) return cli.output.line(url);
  const problem = await openInBrowser(url);
  if (problem === undefined) return cli.output.note(`The browser opens ${page}`);
  await cli.output.line(url);
  await cli.output.note(
    `No browser was opened: ${problem}. The address above logs one in, once, within 60 s.`,
  );
}

async function openApp(
  cli: Cli,
  self: Command,
  { app, print, json }: OpenFlags & { readonly app: string },
): Promise<void> {
  const client = await cli.client(self);
  const { url } = await client.apps.get(app, { signal: cli.signal });
  if (url === null)
    throw new CliError("no_address", "The app has no address: another organization's app has its name.");
  if (json === true) return cli.output.json({ url });
  const problem = print === true ? "" : await openInBrowser(url);
  if (problem === undefined) return cli.output.note(`The browser opens ${url}`);
  await cli.output.line(url);
  if (problem !== "") await cli.output.note(`No browser was opened: ${problem}.`);
}

/** Why that failed; undefined where it did not. */
async function openInBrowser(url: string): Promise<string | undefined> {
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(opener, [url], { stdio: "ignore", detached: true });
  const ended = new Promise<string | undefined>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code === "ENOENT" ? `there is no ${opener}` : `${opener} cannot be run`),
    );
    child.once("exit", (code) => resolve(code === 0 ? undefined : `${opener} failed`));
  });
  const problem = await Promise.race([ended, sleep(FAILED_WITHIN_MS, undefined, { ref: false })]);
  child.unref();
  return problem;
}
