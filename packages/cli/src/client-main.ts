// The `skerry` command that servers hand out at `/cli`: the client alone, bundled into one file that any Node from 20 on runs. A checkout's
// program is `main.ts`.

import { registerServerStatus } from "./commands/server-status.ts";
import { runProgram } from "./program/program.ts";
import { pointToServer, serverCommands } from "./program/server-commands.ts";

void runProgram(process.argv.slice(2), {
  register: async (program, cli) => {
    registerServerStatus(program, cli);
    const others = serverCommands.program.filter((name) => name !== "status");
    pointToServer(program, others);
  },
  registerHost: (host) => pointToServer(host, serverCommands.host),
});
