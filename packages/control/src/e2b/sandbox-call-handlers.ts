// What E2B's clients ask in a sandbox by plain HTTP. Loaded when the first call comes.

import { SkerryError } from "@skerry/contract/errors";
import { getSandbox, sandboxFor } from "../sandboxes/sandboxes.ts";
import { runningVm } from "../vms/vm-kind.ts";
import { sandboxCallOf } from "./sandbox-call.ts";
import { metricsOf } from "./history-handlers.ts";
import type { SandboxCallHandlers } from "./e2b-routes.ts";
import { compose } from "./compose-files.ts";
import { download, upload } from "./file-handlers.ts";

export const sandboxCallHandlers: SandboxCallHandlers = {
  health: async (context, request, reply) => {
    const call = sandboxCallOf(request, reply);
    await runningVm(context, call.caller, call);
    return reply.code(204).send(null);
  },
  measure: async (context, request, reply) => {
    const { id, caller } = sandboxCallOf(request, reply);
    const metric = (await metricsOf(context, caller, id)).at(-1);
    if (metric === undefined)
      throw new SkerryError("not_found", "Nothing was measured yet: that takes a minute.");
    return {
      ...{ ts: metric.timestampUnix, cpu_count: metric.cpuCount, cpu_used_pct: metric.cpuUsedPct },
      ...{ mem_total: metric.memTotal, mem_used: metric.memUsed, mem_cache: metric.memCache },
      ...{ disk_used: metric.diskUsed, disk_total: metric.diskTotal },
    };
  },
  envs: async (context, request, reply) => {
    const { id, caller } = sandboxCallOf(request, reply);
    return sandboxFor(caller, await getSandbox(context, caller, id)).env;
  },
  download,
  upload,
  downloadSigned: download,
  uploadSigned: upload,
  compose,
};
