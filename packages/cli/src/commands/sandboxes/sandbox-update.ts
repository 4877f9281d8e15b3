// `skerry sandbox update`.

import type { SandboxUpdateRequest } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { addNamingFlags, changesOf, orNull, refuseNoChange, type NamingFlags } from "../vms/change-flags.ts";
import { idArgument, sandboxNoun } from "../vms/vm-noun.ts";

interface UpdateFlags extends NamingFlags {
  readonly pauseAfterIdle?: string | false;
  readonly autoResume?: boolean;
  readonly json?: boolean;
}

export function registerSandboxUpdate(sandbox: Command, cli: Cli): void {
  const command = addNamingFlags(
    sandbox
      .command("update")
      .description("Change a sandbox. `keepalive` moves its expiry, and `egress` changes what it may reach.")
      .argument("<id>", idArgument(sandboxNoun)),
  )
    .option("--pause-after-idle <duration>", "pause it when nothing has used it for so long")
    .option("--no-pause-after-idle", "pause it only when its time is over")
    .option("--auto-resume", "calls into it resume it while it is paused")
    .option("--no-auto-resume", "calls into it do not resume it while it is paused")
    .option("--json", "print the sandbox as JSON")
    .action(async (text: string, flags: UpdateFlags, self: Command) => {
      const changes = updateRequest(flags);
      refuseNoChange(changes);
      const client = await cli.client(self);
      const { info } = await onTarget(sandboxNoun.target(client, cli.signal, "update"), text, (id) =>
        client.sandboxes.update(id, changes, { signal: cli.signal }),
      );
      if (flags.json === true) return cli.output.json(info);
      await cli.output.line(`${info.id} ${info.status}`);
    });
  addExamples(
    command,
    "skerry sandbox update sbx_01jd3... --name desk --metadata job=8 --unset-metadata draft",
    "skerry sandbox update desk --pause-after-idle 30m --no-auto-resume",
  );
}

function updateRequest(flags: UpdateFlags): SandboxUpdateRequest {
  return given({
    name: orNull(flags.name),
    metadata: changesOf(flags.metadata, flags.unsetMetadata),
    pause_after_idle: orNull(flags.pauseAfterIdle),
    auto_resume: flags.autoResume,
  });
}
