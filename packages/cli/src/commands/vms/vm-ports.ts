// `ports` and `url` of sandboxes and machines: what listens, what is public, and URLs that need no token.

import type { Command } from "commander";
import type { Port } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { addExamples } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

export function registerVmPorts(parent: Command, cli: Cli, vm: VmNoun): void {
  registerPorts(parent, cli, vm);
  registerUrl(parent, cli, vm);
}

interface PortsFlags {
  readonly public?: number;
  readonly private?: number;
  readonly json?: boolean;
}

function registerPorts(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id: example, calls, target } = vm;
  const command = parent
    .command("ports")
    .description(`List the TCP ports that something in a ${noun} listens on, and those that are public.`)
    .argument("<id>", idArgument(vm))
    .option("--public <port>", "first let everybody send requests to this port, without a token", portNumber)
    .option("--private <port>", "first have this port need a token again", portNumber)
    .option("--json", "print JSON")
    .action(async (text: string, flags: PortsFlags, self: Command) => {
      const client = await cli.client(self);
      const vms = calls(client);
      const options = { signal: cli.signal };
      const { list, address } = await onTarget(target(client, cli.signal, "ports"), text, async (id) => {
        const { public: opened, private: closed } = flags;
        if (opened !== undefined) await vms.setPortPublic(id, opened, true, options);
        if (closed !== undefined) await vms.setPortPublic(id, closed, false, options);
        const isShown = opened !== undefined && flags.json !== true;
        // A signed URL without its signature. The port is public, also where the token may not sign one.
        const address = isShown
          ? await vms.signPortUrl(id, opened, options).then(unsigned, () => undefined)
          : undefined;
        return { list: await vms.ports(id, options), address };
      });
      if (flags.json === true) return cli.output.json(list);
      if (address !== undefined) await cli.output.note(`Port ${flags.public} needs no token: ${address}`);
      if (list.items.length === 0) return cli.output.line("Nothing listens, and no port is public.");
      await cli.output.table(["PORT", "LISTENS AT", "PROGRAM", "PUBLIC"], list.items.map(rowOf));
    });
  addExamples(
    command,
    `skerry ${noun} ports ${example}`,
    `skerry ${noun} ports ${example} --public 3000`,
    `skerry ${noun} ports ${example} --json | jq '.items[].port'`,
  );
}

function unsigned({ url }: { readonly url: string }): string {
  const address = new URL(url);
  address.search = "";
  return address.href;
}

function rowOf(port: Port): string[] {
  const { addresses, process } = port;
  return [String(port.port), addresses.join(" ") || "-", process ?? "-", port.public ? "yes" : "no"];
}

interface UrlFlags {
  readonly expiresIn?: string;
  readonly write?: boolean;
  readonly json?: boolean;
}

function registerUrl(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id: example, calls, target } = vm;
  const command = parent
    .command("url")
    .description(`Sign a URL of a port or a file of a ${noun}: who has it needs no token until it expires.`)
    .argument("<id>", idArgument(vm))
    .argument("<what>", "1 to 65535 for a port, or the absolute path of a file", portOrPath)
    .option("--write", "of a file: the URL writes it, with PUT, and does not read it")
    .option("--expires-in <duration>", "how long it is valid, at most 168h (default: 1h)")
    .option("--json", "print JSON, with when it expires")
    .action(async (text: string, what: number | string, flags: UrlFlags, self: Command) => {
      const client = await cli.client(self);
      const options = { expiresIn: flags.expiresIn, signal: cli.signal };
      if (typeof what === "number" && flags.write === true) throw noPortIsWritten();
      const signed = await onTarget(target(client, cli.signal, "url"), text, (id) =>
        typeof what === "number"
          ? calls(client).signPortUrl(id, what, options)
          : calls(client)
              .files(id)
              .signUrl(what, { ...options, method: flags.write === true ? "PUT" : undefined }),
      );
      if (flags.json === true) return cli.output.json(signed);
      await cli.output.line(signed.url);
    });
  addExamples(
    command,
    `skerry ${noun} url ${example} 3000`,
    `curl "$(skerry ${noun} url ${example} 3000 --expires-in 10m)"`,
    `curl -T ./data "$(skerry ${noun} url ${example} /root/data --write)"`,
  );
}

function portOrPath(text: string): number | string {
  return text.startsWith("/") ? text : portNumber(text);
}

function noPortIsWritten(): CliError {
  return new CliError("invalid_input", "A URL of a port takes every method.", {
    remediation: "Leave --write out, or give the path of a file.",
    exitCode: exitCodes.usage,
  });
}

const PORT_MAX = 65_535;

function portNumber(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= PORT_MAX) return port;
  throw new CliError("invalid_input", `"${text}" is not a port.`, {
    remediation: "Give a number from 1 to 65535; the path of a file begins with a slash.",
    exitCode: exitCodes.usage,
  });
}
