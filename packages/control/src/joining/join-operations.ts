import { HostJoined, JoinAnswer, JoinConfirmation, JoinRequest } from "@skerry/contract/joining/join-request";
import { JoinToken } from "@skerry/contract/joining/join-token";
import type { Operations } from "../api/operation.ts";

/** What proves to have a join token can be answered. */
const withJoinToken = ["unauthorized", "join_token_used", "rate_limited", "database_unavailable"] as const;

export const joinOperations = {
  createJoinToken: {
    surface: "v1",
    method: "POST",
    path: "/v1/hosts/join-tokens",
    tag: "hosts",
    summary:
      "A token by which one machine becomes a host within the next hour; it is in this answer and nowhere else",
    isBodyOptional: true,
    answers: { 201: JoinToken },
    access: { scope: "hosts:write", role: "admin", rate: "expensive" },
    audit: { action: "host.token", resource: "host" },
    errors: [],
  },
  // The callers of these two have no API token, and prove that they have a join token.
  joinHost: {
    surface: "v1",
    method: "POST",
    path: "/v1/hosts/join",
    tag: "hosts",
    summary: "Certify a machine as a host; `skerry host join` calls it",
    description:
      "Needs no API token: the request proves that its sender has a join token, without sending it. The same machine may ask again.",
    body: JoinRequest,
    answers: { 200: JoinAnswer },
    access: "public",
    errors: [...withJoinToken, "host_name_taken"],
  },
  confirmHost: {
    surface: "v1",
    method: "POST",
    path: "/v1/hosts/join/confirm",
    tag: "hosts",
    summary: "Have control call a host that has just been certified; the answer says why where that fails",
    body: JoinConfirmation,
    answers: { 200: HostJoined },
    access: "public",
    errors: [...withJoinToken, "host_not_found", "host_unreachable"],
  },
} as const satisfies Operations;
