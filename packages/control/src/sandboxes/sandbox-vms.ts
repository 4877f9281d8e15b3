// Sandboxes, as far as calls into a microVM are concerned.

import { isId } from "@skerry/contract/ids";
import { causedEvent } from "../audit/audit-log.ts";
import type { VmKind } from "../vms/vm-kind.ts";
import { resumeSandbox } from "./resume-sandbox.ts";
import { ended, getSandbox, notRunning } from "./sandboxes.ts";
import { settledSandbox } from "./settled-sandbox.ts";

export const sandboxVms: VmKind = {
  noun: "sandbox",
  table: "sandboxes",
  isId: (id) => isId("sandbox", id),
  get: getSandbox,
  settled: settledSandbox,
  wake: (context, caller, { id }) => {
    const act = {
      action: "sandbox.resume",
      resource: "sandbox",
      resourceId: id,
      service: "port-visitor",
    } as const;
    const event = causedEvent(caller, act);
    return resumeSandbox(context, caller, { id, why: "a call into it", event, isByCall: true });
  },
  notRunning,
  // Its processes go on where they were.
  isBeginning: () => Promise.resolve(false),
  ended,
  busy: (cause) => cause,
};
