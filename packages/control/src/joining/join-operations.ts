import { Authority, AuthorityRotateRequest } from "@skerry/contract/joining/authority";
import { HostJoined, JoinAnswer, JoinConfirmation, JoinRequest } from "@skerry/contract/joining/join-request";
import { JoinToken } from "@skerry/contract/joining/join-token";
import type { Operations } from "../api/operation.ts";

/** What proves to have a join token can be answered. */
const ofSealed = ["secrets_unavailable", "secret_damaged"] as const;
const withJoinToken = [
  ...ofSealed,
  "unauthorized",
  "join_token_used",
  "rate_limited",
  "database_unavailable",
] as const;

export const joinOperations = {
  createJoinToken: {
    surface: "v1",
    method: "POST",
    path: "/v1/hosts/join-tokens",
    tag: "hosts",
    summary: "Create a join token",
    description:
      "By it one machine becomes a host within the next hour. It is in this answer and nowhere else.",
    isBodyOptional: true,
    answers: { 201: JoinToken },
    access: { scope: "hosts:write", role: "admin", rate: "expensive" },
    audit: { action: "host.token", resource: "host" },
    errors: [...ofSealed],
  },
  getAuthority: {
    surface: "v1",
    method: "GET",
    path: "/v1/authority",
    client: "hosts.authority",
    tag: "hosts",
    summary: "Get the certificate authority",
    description: "The authority that certifies control and its hosts, and how far a change of it is.",
    answers: { 200: Authority },
    access: { scope: "hosts:read", role: "viewer", rate: "read" },
    audit: { action: "authority.get", resource: "authority" },
    errors: [],
  },
  rotateAuthority: {
    surface: "v1",
    method: "POST",
    path: "/v1/authority/rotate",
    client: "hosts.rotateAuthority",
    tag: "hosts",
    summary: "Rotate the certificate authority",
    description:
      "Changes the authority that certifies control and its hosts for a new one, while they go on.\n\n" +
      "Answers at once; the change goes on by itself, and waits for every host, also for one that is offline, until its certificate ends. " +
      "Asked for again while one is under way, it begins no other.",
    body: AuthorityRotateRequest,
    isBodyOptional: true,
    answers: { 200: Authority },
    access: { scope: "hosts:write", role: "admin", rate: "write" },
    audit: { action: "authority.rotate", resource: "authority" },
    errors: [],
  },
  // The callers of these two have no API token, and prove that they have a join token.
  joinHost: {
    surface: "v1",
    method: "POST",
    path: "/v1/hosts/join",
    client: null,
    tag: "hosts",
    summary: "Join a machine as a host",
    description:
      "Certifies the machine. `skerry host join` calls it.\n\n" +
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
    client: null,
    tag: "hosts",
    summary: "Confirm that a host has joined",
    description:
      "Has control call a host that has just been certified. The answer says why where that fails.",
    body: JoinConfirmation,
    answers: { 200: HostJoined },
    access: "public",
    errors: [...withJoinToken, "host_not_found", "host_unreachable"],
  },
} as const satisfies Operations;
