import type { OperationId } from "../../src/app/operations.ts";
import { expect } from "vitest";
import type { ClientCall } from "./client-call.ts";

export const secretClientCalls = {
  listSecrets: { cli: "secret list --json" },
  getSecret: { cli: "secret show {name} --json" },
  setSecret: { cli: "secret set {name} --json", input: "x\n" },
  rollBackSecret: { cli: "secret rollback {name} 1 --json" },
  deleteSecret: {
    cli: "secret delete {name}",
    gives: { cli: expect.stringMatching(/^S_\w+ deleted\n$/) },
  },
} satisfies Partial<Readonly<Record<OperationId, ClientCall>>>;
