// `skerry machine create`.

import { RESTART_RETRIES_MAX } from "@skerry/contract/bounds";
import {
  restartDisks,
  restartPolicies,
  type RestartDisk,
  type RestartPolicy,
} from "@skerry/contract/machines/machine-status";
import type { MachineCreateRequest } from "@skerry/sdk";
import { InvalidArgumentError, Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addEnvFlags, envOf, type EnvFlags } from "../../env-flags.ts";
import { addExamples, collectPair, given } from "../../options.ts";
import { chosenTemplate, firstUseHint } from "../vms/default-template.ts";
import { createInterruptibly } from "../vms/interruptible-create.ts";
import { addEgressFlags, egressRequest, type EgressFlags } from "../vms/egress-flags.ts";

interface CreateFlags extends EgressFlags, EnvFlags {
  readonly template?: string;
  readonly snapshot?: string;
  readonly name?: string;
  readonly size?: string;
  readonly metadata?: Record<string, string>;
  readonly command?: string;
  readonly restart?: RestartPolicy;
  readonly maxRetries?: number | typeof UNLIMITED;
  readonly restartDisk?: RestartDisk;
  readonly stopTimeout?: string;
  readonly json?: boolean;
}

const UNLIMITED = "unlimited";

export function registerMachineCreate(machine: Command, cli: Cli): void {
  const command = machine
    .command("create")
    .description("Create a machine, wait until it runs and print its id.")
    .argument("[template]", "the same as --template")
    .option("--template <name>", "name or id; see `skerry template list` (default: base, or the only one)")
    .option(
      "--snapshot <name>",
      "name or id of a snapshot of a machine to begin at, in the place of a template",
    )
    .option("--name <name>", "a name that commands take in the place of the id")
    .option("--size <name>", "CPUs and memory; see `skerry size list` (default: shared-cpu-1x)")
    .option("--metadata <KEY=VALUE>", "label of your own; repeatable", collectPair)
    .option("--command <line>", "shell command line of its main process, whose end is the machine's")
    .addOption(
      new Option("--restart <policy>", "when it is started again by itself (default: on-failure)").choices(
        restartPolicies,
      ),
    )
    .option(
      "--max-retries <count>",
      "restarts in a row before it is given up, or `unlimited` (default: 10 with on-failure)",
      retries,
    )
    .addOption(
      new Option(
        "--restart-disk <what>",
        "when its host is lost: keep (wait for the host, which has its disk) or disposable (start elsewhere with a new disk) (default: keep)",
      ).choices(restartDisks),
    )
    .option("--stop-timeout <duration>", "from SIGTERM to SIGKILL (default: 10s, at most 5m)");
  addEgressFlags(addEnvFlags(command, "environment variable of its processes"))
    .option("--json", "print the machine as JSON")
    .action((template: string | undefined, flags: CreateFlags, self: Command) =>
      createMachine(cli, { template, flags, self }),
    );
  addExamples(
    command,
    "skerry machine create",
    "skerry machine create --template base --name web --command 'exec python3 -m http.server' --restart always",
    "skerry machine create --template base --command 'python3 /srv/job.py' --max-retries 3 --stop-timeout 1m",
    "skerry machine create --template base --egress-allow-cidr 10.0.0.0/8 --egress-allow-port 443",
  );
}

function retries(text: string): number | typeof UNLIMITED {
  if (text === UNLIMITED) return UNLIMITED;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (count >= 0 && count <= RESTART_RETRIES_MAX) return count;
  throw new InvalidArgumentError(
    `It must be a whole number from 0 to ${RESTART_RETRIES_MAX}, or "${UNLIMITED}".`,
  );
}

interface Creation {
  readonly template: string | undefined;
  readonly flags: CreateFlags;
  readonly self: Command;
}

async function createMachine(cli: Cli, { template: argument, flags, self }: Creation): Promise<void> {
  const env = await envOf(flags);
  const client = await cli.client(self);
  const template =
    flags.snapshot === undefined || flags.template !== undefined || argument !== undefined
      ? await chosenTemplate(client, { flag: flags.template, argument }, cli.signal)
      : undefined;
  const request = createRequest({ ...flags, env, template });
  await createInterruptibly(cli, {
    noun: "machine",
    hint: firstUseHint(flags.size),
    create: (options) => client.machines.create(request, options),
    destroy: (id, options) => client.machines.destroy(id, options),
    tell: async (machine) => {
      if (flags.json === true) return cli.output.json(machine);
      await cli.output.line(machine.id);
      await cli.output.note(`${machine.template}, ${machine.size}; restart: ${machine.restart.policy}`);
    },
  });
}

/** The flags with the template that they mean and the variables that they name. */
interface Wish extends Omit<CreateFlags, "env" | "template"> {
  readonly template: string | undefined;
  readonly env: Readonly<Record<string, string>> | undefined;
}

function createRequest(flags: Wish): MachineCreateRequest {
  const { template, snapshot, name, size, env, metadata, command, maxRetries, stopTimeout } = flags;
  const restart = given({
    policy: flags.restart,
    max_retries: maxRetries === UNLIMITED ? null : maxRetries,
    disk: flags.restartDisk,
  });
  return {
    ...given({
      template,
      snapshot,
      name,
      size,
      env,
      metadata,
      egress: egressRequest(flags),
      command,
      stop_timeout: stopTimeout,
    }),
    ...(Object.keys(restart).length === 0 ? {} : { restart }),
  };
}
