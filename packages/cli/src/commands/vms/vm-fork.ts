// `skerry sandbox fork` and `skerry machine fork`.

import type { CreateOptions, Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, wholeNumber } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

interface Flags {
  readonly count?: number;
  readonly json?: boolean;
}

const FORKS_MAX = 100;

type Fork = (
  id: string,
  count: number,
  options: CreateOptions,
) => Promise<readonly { readonly id: string }[]>;

const forkOf = ({ sandboxes, machines }: Skerry, { noun }: VmNoun): Fork =>
  noun === "sandbox"
    ? (id, count, options) => sandboxes.fork(id, count, options)
    : (id, count, options) => machines.fork(id, count, options);

export function registerVmFork(vm: Command, cli: Cli, noun: VmNoun): void {
  const many = noun.noun === "sandbox" ? "sandboxes" : "machines";
  const command = vm
    .command("fork")
    .description(
      `Make ${many} that go on from a ${noun.noun}'s memory and disk as they are now; print their ids.`,
    )
    .argument("<id>", idArgument(noun))
    .option("--count <number>", `how many, at most ${FORKS_MAX} (default: 1)`, (text) =>
      wholeNumber(text, FORKS_MAX),
    )
    .option("--json", `print the ${many} as JSON`)
    .action(async (text: string, flags: Flags, self: Command) => {
      const client = await cli.client(self);
      const forks = await onTarget(noun.target(client, cli.signal), text, (id) =>
        cli.waits.during(`Forking ${text}`, () =>
          forkOf(client, noun)(id, flags.count ?? 1, { signal: cli.signal }),
        ),
      );
      if (flags.json === true) return cli.output.json({ items: forks });
      for (const fork of forks) await cli.output.line(fork.id);
    });
  addExamples(command, `skerry ${noun.noun} fork ${noun.id} --count 3`);
}
