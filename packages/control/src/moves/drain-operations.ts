import { Host } from "@skerry/contract/hosts/host";
import type { Operations } from "../api/operation.ts";
import { HostParams } from "../hosts/host-operations.ts";

export const drainOperations = {
  drainHost: {
    surface: "v1",
    method: "POST",
    path: "/v1/hosts/:id/drain",
    tag: "hosts",
    summary: "Drain a host",
    description:
      "Gives the host no new VMs and moves those that it has to other hosts, with paused sandboxes and snapshots, and copies there the templates that no other host has.\n\n" +
      "Answers at once; the host is in `maintenance` when the last one has left. A host that is offline is drained when it is back.",
    params: HostParams,
    answers: { 200: Host },
    access: { scope: "hosts:write", role: "admin", rate: "write" },
    audit: { action: "host.drain", resource: "host" },
    errors: ["host_not_found"],
  },
  activateHost: {
    surface: "v1",
    method: "POST",
    path: "/v1/hosts/:id/activate",
    tag: "hosts",
    summary: "Activate a host",
    description: "Lets the host have VMs again: cancels a drain, ends maintenance.",
    params: HostParams,
    answers: { 200: Host },
    access: { scope: "hosts:write", role: "admin", rate: "write" },
    audit: { action: "host.activate", resource: "host" },
    errors: ["host_not_found", "host_silent"],
  },
} as const satisfies Operations;
