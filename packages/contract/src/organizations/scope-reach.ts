// What a token reaches by its scopes, also in two steps: makes with one call what another one reads. The OpenAPI document and docs/organizations.md
// show this table, and tests try each pair of scopes against it.

import type { NeededScope } from "./scopes.ts";

interface Reach {
  /** What is reached. */
  readonly what: string;
  /** Each of these sets of scopes is enough, and nothing that has none of them whole is. */
  readonly by: readonly (readonly NeededScope[])[];
  /** How, where that is not plain. */
  readonly how: string;
}

export const scopeReach = {
  sandboxes: {
    what: "What is in a sandbox or in a snapshot of one: files, memory, values of the environment and of secrets in it, answers of its ports",
    by: [["sandboxes:execute"]],
    how: "Signed URLs, public ports, traffic access tokens of E2B's clients, a build on a snapshot, a sandbox from a snapshot with an environment of its own, and a rollback to a snapshot of another sandbox all need it.",
  },
  machines: {
    what: "What is in a machine or in a snapshot of one",
    by: [["machines:execute"]],
    how: "As with sandboxes; a machine from a snapshot with a command of its own needs it, too, and so does a change of a machine's command or environment.",
  },
  machineLogs: {
    what: "The log of a machine: what its main process prints",
    by: [["machines:read"]],
    how: "",
  },
  templates: {
    what: "Files of the organization's templates",
    by: [["templates:write"], ["machines:write"], ["apps:write"], ["sandboxes:write", "sandboxes:execute"]],
    how: "A build's steps, the command of a machine or of an app, and commands in a new sandbox read what is in the template.",
  },
  buildLogs: {
    what: "Logs of builds: what their steps print",
    by: [["templates:read"]],
    how: "",
  },
  laterVms: {
    what: "What runs in the VMs that others make of a template later",
    by: [["templates:write"]],
    how: "A name or a tag of a template is moved to another version.",
  },
  secrets: {
    what: "Values of secrets that no sandbox or machine was created with",
    by: [
      ["secrets:read", "machines:write"],
      ["secrets:read", "apps:write"],
      ["secrets:read", "templates:write"],
      ["secrets:read", "sandboxes:write"],
    ],
    how: "No call reads a value. The command of a machine or of an app, commands in a new sandbox and a build's Dockerfile read the secrets that they are given, and a rule of an egress policy sends one to the host that it names.",
  },
  appEnv: {
    what: "The environment of an app's releases",
    by: [["apps:write"]],
    how: "A deploy of the release with another command has it, and the app's address answers what that prints.",
  },
  members: {
    what: "What other members may",
    by: [["org:write"]],
    how: "Roles are changed. A token for a new member has no more scopes than the one that invites.",
  },
  auditLog: { what: "The audit log", by: [["audit:read"]], how: "" },
} as const satisfies Readonly<Record<string, Reach>>;

export type ReachId = keyof typeof scopeReach;

/** Whether a token with these scopes reaches it. */
export function reaches(scopes: readonly NeededScope[], id: ReachId): boolean {
  return (scopeReach[id].by as Reach["by"]).some((needed) => needed.every((scope) => scopes.includes(scope)));
}

/** As Markdown. */
export function scopeReachTable(): string {
  const rows = Object.values<Reach>(scopeReach).map(({ what, by, how }) => {
    const ways = by.map((scopes) => scopes.map((scope) => `\`${scope}\``).join(" with "));
    return [what, ways.join(", or "), how];
  });
  const header = ["what is reached", "by the scopes", "how"];
  const widths = header.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? "")].map(({ length }) => length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [
    line(header),
    `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`,
    ...rows.map(line),
  ].join("\n");
}
