// `skerry template push`: a version as an image of a registry.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given } from "../../input/options.ts";
import { addEgressFlags, egressRequest, type EgressFlags } from "../vms/egress-flags.ts";
import { followToEnd } from "./follow-to-end.ts";

interface PushFlags extends EgressFlags {
  readonly size?: string;
  readonly timeout?: string;
  readonly json?: boolean;
}

export function registerTemplatePush(templates: Command, cli: Cli): void {
  const push = templates
    .command("push")
    .description("Push a template to a registry, as an OCI image. `skerry registry login` sets credentials.")
    .argument("<template>", "NAME:TAG or id of a template that the organization has built")
    .argument("<image>", "what it is called there, such as registry.example.com/team/web:42")
    .option("--size <size>", "of the microVM that makes the image (default: shared-cpu-4x)")
    .option("--timeout <duration>", "of the push (default: 30m)")
    .option("--json", "print JSON")
    .action((template: string, image: string, flags: PushFlags, self: Command) =>
      runPush(cli, self, { template, image, flags }),
    );
  addEgressFlags(push);
  addExamples(
    push,
    "skerry template push web:42 registry.example.com/team/web:42",
    "skerry template push web:42 registry.example.com/team/web:42 --json | jq -r .pushed.digest",
  );
}

interface Push {
  readonly template: string;
  readonly image: string;
  readonly flags: PushFlags;
}

/** Prints the image's digest on stdout, and what the push prints on stderr. */
async function runPush(cli: Cli, self: Command, { template, image, flags }: Push): Promise<void> {
  const client = await cli.client(self);
  const { size, timeout, json } = flags;
  const request = { image, ...given({ size, timeout, egress: egressRequest(flags) }) };
  const build = await followToEnd(cli, client, (told) =>
    client.templates.push(template, request, {
      signal: cli.signal,
      ...told((one) => `pushes ${one.name}:${one.tag} to ${image}`),
    }),
  );
  if (json === true) return cli.output.json(build);
  await cli.output.line(build.pushed?.digest ?? build.id);
}
