// `skerry sandbox forward`: ports of this machine that lead to those of a microVM, until Ctrl-C.

import type { Forward } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes, failureOf, InterruptedError } from "../../errors/errors.ts";
import { addExamples } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

interface ForwardFlags {
  readonly address: string;
  readonly json?: boolean;
}

interface Mapping {
  readonly localPort: number;
  readonly port: number;
}

export function registerVmForward(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id: example } = vm;
  const command = parent
    .command("forward")
    .description(`Have ports of this machine lead to ports of a ${noun}, until Ctrl-C.`)
    .argument("<id>", idArgument(vm))
    .argument("<ports...>", "LOCAL:REMOTE, or REMOTE for the same on both sides; LOCAL 0 is any that is free")
    .option("--address <address>", "where to listen; other machines that reach it need no token", "127.0.0.1")
    .option("--json", "print where it listens as JSON, an object a line")
    .action(async (text: string, words: readonly string[], flags: ForwardFlags, self: Command) => {
      const mappings = words.map(mappingOf);
      const client = await cli.client(self);
      const forwards: Forward[] = [];
      try {
        for (const mapping of mappings) forwards.push(await opened(mapping));
        await untilEnd(cli, forwards);
      } finally {
        await Promise.all(forwards.map((forward) => forward.close()));
      }

      async function opened({ localPort, port }: Mapping): Promise<Forward> {
        const options = {
          ...{ localPort, localAddress: flags.address },
          onConnectionError: (error: unknown) => void noteError(cli, port, error),
        };
        const forward = await onTarget(vm.target(client, cli.signal), text, (id) =>
          vm.calls(client).forward(id, port, options),
        );
        cli.waits.endRequest();
        const at = { address: forward.localAddress, port: forward.localPort };
        if (flags.json === true) await cli.output.jsonLine({ ...at, to: port });
        else await cli.output.line(`${at.address}:${at.port} leads to port ${port} of ${text}`);
        return forward;
      }
    });
  addExamples(
    command,
    `skerry ${noun} forward ${example} 3000`,
    `skerry ${noun} forward ${example} 8080:80 15432:5432`,
    `skerry ${noun} forward ${example} 0:22 --json`,
  );
}

/** Ends with the first that ends by itself, or with a signal, which is what it is left with. */
async function untilEnd(cli: Cli, forwards: readonly Forward[]): Promise<void> {
  const { signal } = cli;
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([stopped, ...forwards.map((forward) => forward.closed)]);
  if (!signal.aborted) return;
  await cli.output.interrupted();
  // A person ends it so: that is no failure. Who sends SIGTERM learns that it was obeyed.
  const { reason } = signal;
  if (reason instanceof InterruptedError && reason.exitCode !== SIGINT_CODE) throw reason;
}

const SIGINT_CODE = 130;

async function noteError(cli: Cli, port: number, error: unknown): Promise<void> {
  const { message, code } = failureOf(error);
  await cli.output.note(`A connection to port ${port} failed: ${message} (${code})`).catch(() => undefined);
}

const PORT_MAX = 65_535;

function mappingOf(text: string): Mapping {
  const [, local, remote] = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(remote ?? 0);
  const localPort = Number(local ?? port);
  if (port >= 1 && port <= PORT_MAX && localPort <= PORT_MAX) return { localPort, port };
  throw new CliError("invalid_input", `"${text}" is no LOCAL:REMOTE.`, {
    remediation: "Give two numbers from 1 to 65535, such as 8080:80.",
    exitCode: exitCodes.usage,
  });
}
