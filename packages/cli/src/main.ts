#!/usr/bin/env node
// The `skerry` command of a checkout, a package or an installed service: the client, and the commands that run Skerry on this machine.

import { registerHostMachineCommands } from "./local/host-machine.ts";
import { runProgram } from "./program/program.ts";

/** What the API serves. Everything else (`up`, `status`, the list in the help) needs the local commands too. */
const clientCommands: ReadonlySet<string> = new Set(
  "-v --version audit auth e2b host org sandbox machine template registry size ps logs cp login logout whoami".split(
    " ",
  ),
);

await runProgram(process.argv.slice(2), {
  register: async (program, cli, args) => {
    // Client commands start without loading what runs a server.
    if (clientCommands.has(args[0] ?? "")) return;
    const { registerLocalCommands } = await import("./local/local-commands.ts");
    registerLocalCommands(program, cli);
  },
  registerHost: registerHostMachineCommands,
});
