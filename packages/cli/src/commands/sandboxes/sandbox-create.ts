// `skerry sandbox create`.

import type { SandboxCreateRequest } from "@skerry/sdk";
import { sandboxModes, type SandboxMode } from "@skerry/contract/sandboxes/sandbox-status";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addEnvFlags, envOf, type EnvFlags } from "../vms/env-flags.ts";
import { addSecretFlag, type SecretFlags } from "../vms/secret-flags.ts";
import { addExamples, collectPair, given } from "../../input/options.ts";
import { chosenTemplate, firstUseHint } from "../vms/default-template.ts";
import { createInterruptibly } from "../vms/interruptible-create.ts";
import { addInjectFlag } from "../vms/inject-flag.ts";
import { addEgressFlags, egressRequest, type EgressFlags } from "../vms/egress-flags.ts";

interface CreateFlags extends EgressFlags, EnvFlags, SecretFlags {
  readonly template?: string;
  readonly snapshot?: string;
  readonly name?: string;
  readonly mode?: SandboxMode;
  readonly timeout?: string;
  readonly pauseAfterIdle?: string;
  readonly autoResume: boolean;
  readonly size?: string;
  readonly metadata?: Record<string, string>;
  readonly json?: boolean;
}

export function registerSandboxCreate(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("create")
    .description("Create a sandbox, wait until it is usable and print its id.")
    .argument("[template]", "the same as --template")
    .option("--template <name>", "name or id; see `skerry template list` (default: base, or the only one)")
    .option("--snapshot <name>", "name or id of a snapshot to begin at, in the place of a template")
    .option("--name <name>", "a name that commands take in the place of the id")
    .addOption(
      new Option(
        "--mode <mode>",
        "what the end of its time does: destroy it (ephemeral, the default), or pause it until it is used again",
      ).choices(sandboxModes),
    )
    .option(
      "--timeout <duration>",
      "until it is destroyed or paused, such as 30s, 10m or 24h (default: 5m, at most 24h)",
    )
    .option(
      "--pause-after-idle <duration>",
      "pause it when nothing has used it for so long; only with --mode persistent",
    )
    .option("--no-auto-resume", "calls into it do not resume it while it is paused")
    .option("--size <name>", "CPUs and memory; see `skerry size list` (default: shared-cpu-1x)")
    .option("--metadata <KEY=VALUE>", "label of your own; repeatable", collectPair);
  addInjectFlag(addEgressFlags(addSecretFlag(addEnvFlags(command, "environment variable of its commands"))))
    .option("--json", "print the sandbox as JSON")
    .action((template: string | undefined, flags: CreateFlags, self: Command) =>
      createSandbox(cli, { template, flags, self }),
    );
  addExamples(
    command,
    "skerry sandbox create",
    "skerry sandbox create --template base --timeout 30m --size shared-cpu-2x --env CI=1 --metadata job=7",
    "skerry sandbox create --template base --egress-allow-cidr 10.0.0.0/8 --egress-allow-port 443",
    "skerry sandbox create --mode persistent --name desk --timeout 1h --pause-after-idle 10m",
    "skerry sandbox create --secret API_KEY --secret TEST_DB_URL=DATABASE_URL",
    "skerry sandbox create --template base --egress-mode deny_all --egress-dns",
  );
}

interface Creation {
  readonly template: string | undefined;
  readonly flags: CreateFlags;
  readonly self: Command;
}

async function createSandbox(cli: Cli, { template: argument, flags, self }: Creation): Promise<void> {
  const env = await envOf(flags);
  const client = await cli.client(self);
  const template =
    flags.snapshot === undefined || flags.template !== undefined || argument !== undefined
      ? await chosenTemplate(client, { flag: flags.template, argument }, cli.signal)
      : undefined;
  const request = createRequest({ ...flags, env, template });
  await createInterruptibly(cli, {
    noun: "sandbox",
    hint: firstUseHint(flags.size),
    create: (options) => client.sandboxes.create(request, options),
    destroy: (id, options) => client.sandboxes.destroy(id, options),
    tell: async (created) => {
      if (flags.json === true) return cli.output.json(created);
      await cli.output.line(created.id);
      await cli.output.note(
        `${created.info.template}, ${created.info.size}; ${ends[created.info.mode]} ${created.info.expires_at}`,
      );
    },
  });
}

const ends = { ephemeral: "expires", persistent: "is paused" } as const;

/** The flags with the template that they mean and the variables that they name. */
interface Wish extends Omit<CreateFlags, "env" | "template"> {
  readonly template: string | undefined;
  readonly env: Readonly<Record<string, string>> | undefined;
}

function createRequest(flags: Wish): SandboxCreateRequest {
  const {
    template,
    snapshot,
    name,
    mode,
    timeout,
    pauseAfterIdle: pause_after_idle,
    size,
    env,
    metadata,
  } = flags;
  return {
    ...given({ template, snapshot, name, mode, timeout, pause_after_idle, size, env, metadata }),
    ...given({
      egress: egressRequest(flags),
      secrets: flags.secret,
      auto_resume: flags.autoResume ? undefined : false,
    }),
  };
}
