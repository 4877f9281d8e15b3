// What E2B's clients ask in a sandbox by plain HTTP. Loaded when the first call comes.

import { runningVm } from "../vms/vm-kind.ts";
import { sandboxCallOf } from "./e2b-vms.ts";
import type { SandboxCallHandlers } from "./e2b-routes.ts";
import { download, upload } from "./file-handlers.ts";

export const sandboxCallHandlers: SandboxCallHandlers = {
  health: async (context, request, reply) => {
    const call = sandboxCallOf(request, reply);
    await runningVm(context, call.caller, call);
    return reply.code(204).send(null);
  },
  download,
  upload,
};
