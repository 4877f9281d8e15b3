// Ways to a secret's value that no VM was created with.

import { says, SECRET, type Way } from "./holder.ts";

/** Secrets of their organization that none of its VMs has. */
const unused = { secrets: [{ name: "UNUSED" }] };
const sendingUnused = { inject: [{ host: "mine.example", secret: "UNUSED", header: "X-Key" }] };

export const secretWays: readonly Way[] = [
  [
    "secrets",
    "runs a command in a machine that has it",
    (by) => by.post("/v1/machines", { template: "base", command: "env", ...unused }),
  ],
  [
    "secrets",
    "runs a command in a sandbox that has it",
    async (by) => {
      const { id } = await by.post("/v1/sandboxes", { template: "base", ...unused });
      await by.post(`/v1/sandboxes/${id}/execute`, { command: "env" });
    },
  ],
  [
    "secrets",
    "has the requests of a sandbox send it",
    (by, theirs) => by.call("PUT", `/v1/sandboxes/${theirs.sandbox}/egress`, sendingUnused),
  ],
  [
    "secrets",
    "builds a Dockerfile that has it",
    (by) => by.post("/v1/templates", { name: "stolen", context: true, dockerfile: {}, ...unused }),
  ],
  ["secrets", "reads it", (by) => says(SECRET, by.call("GET", "/v1/secrets"))],
  ["secrets", "reads its versions", (by) => says(SECRET, by.call("GET", "/v1/secrets/UNUSED"))],
];
