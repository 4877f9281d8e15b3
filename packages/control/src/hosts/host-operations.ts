import { Type } from "typebox";
import { PageQuery } from "@skerry/contract/page";
import { Host, HostList } from "@skerry/contract/hosts/host";
import type { Operations } from "../api/operation.ts";

export const HostParams = Type.Object({ id: Type.String() });

export const hostOperations = {
  listHosts: {
    surface: "v1",
    method: "GET",
    path: "/v1/hosts",
    tag: "hosts",
    summary: "List hosts",
    description: "The machines that VMs run on, newest first.",
    query: PageQuery,
    answers: { 200: HostList },
    access: { scope: "hosts:read", role: "viewer", rate: "read" },
    audit: { action: "host.list", resource: "host" },
    errors: [],
  },
  getHost: {
    surface: "v1",
    method: "GET",
    path: "/v1/hosts/:id",
    tag: "hosts",
    summary: "Get a host",
    description: "How it is, what it has, and what is taken of it.",
    params: HostParams,
    answers: { 200: Host },
    access: { scope: "hosts:read", role: "viewer", rate: "read" },
    audit: { action: "host.get", resource: "host" },
    errors: ["host_not_found"],
  },
  removeHost: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/hosts/:id",
    tag: "hosts",
    summary: "Remove a host",
    description:
      "Ends the membership of a host that has joined: control trusts it no more.\n\n" +
      "What ran on it has failed, and does not come back; machines start anew elsewhere by their policy. Drain it first to lose nothing. Templates that organizations have built do not leave with a drain: it is removed with the last copy of one only by `force`.",
    params: HostParams,
    query: Type.Object(
      {
        force: Type.Optional(
          Type.Boolean({
            default: false,
            description:
              "Also with sandboxes, machines and snapshots on it, and with templates that no other host has; they are lost.",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    answers: { 204: Type.Null({ description: "It is none of our hosts." }) },
    access: { scope: "hosts:write", role: "admin", rate: "write" },
    audit: { action: "host.remove", resource: "host" },
    errors: ["host_not_found", "host_not_empty", "host_not_removable"],
  },
} as const satisfies Operations;
