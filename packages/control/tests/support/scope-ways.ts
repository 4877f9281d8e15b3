// Ways from one call to what another one reads, each tried with the token of a `Holder`.

import { randomUUID } from "node:crypto";
import { FRIENDLY_PORT } from "./fake-ports.ts";
import { says, SECRET, type Body, type Holder, type Theirs, type Way } from "./holder.ts";
import { appWays } from "./app-ways.ts";
import { secretWays } from "./secret-ways.ts";

async function open(by: Holder, vm: string): Promise<void> {
  const port = `/v1/${vm}/ports/${FRIENDLY_PORT}`;
  await by.call("PATCH", port, { public: true });
  await says("hello", by.visit(`${port}/`));
}

/** By the header of E2B's clients, with what a client was told. */
async function visitByHeader(
  by: Holder,
  { sandboxID, trafficAccessToken }: Record<string, unknown>,
): Promise<void> {
  const headers = {
    "e2b-sandbox-id": String(sandboxID),
    "e2b-sandbox-port": String(FRIENDLY_PORT),
    ...(typeof trafficAccessToken === "string" && { "e2b-traffic-access-token": trafficAccessToken }),
  };
  await says("hello", by.visit("/e2b/sandbox/", headers));
}

/** The same for sandboxes and machines. */
function waysOf(
  to: "sandboxes" | "machines",
  vm: "sandbox" | "machine",
  snapshot: "snapshot" | "machineSnapshot",
): readonly Way[] {
  const path = (theirs: Theirs) => `${to}/${theirs[vm]}`;
  const read = (by: Holder, theirs: Theirs) =>
    says(SECRET, by.call("GET", `/v1/${path(theirs)}/files/tmp/secret`));
  return [
    [to, "reads a file", read],
    [to, "runs a command", (by, theirs) => by.post(`/v1/${path(theirs)}/execute`, { command: "true" })],
    [
      to,
      "starts an execution",
      (by, theirs) => by.post(`/v1/${path(theirs)}/executions`, { command: "true" }),
    ],
    [to, "reads the environment", (by, theirs) => says(SECRET, by.call("GET", `/v1/${path(theirs)}`))],
    [to, "finds the environment in the list", (by) => says(SECRET, by.call("GET", `/v1/${to}`))],
    [
      to,
      "finds the environment in events",
      (by, theirs) => says(SECRET, by.call("GET", `/v1/${path(theirs)}/events`)),
    ],
    [to, "makes a port public", (by, theirs) => open(by, path(theirs))],
    [
      to,
      "signs a URL",
      async (by, theirs) => {
        const { url } = await by.post(`/v1/${path(theirs)}/urls`, { port: FRIENDLY_PORT });
        await says("hello", by.visit(String(url).slice(by.world.url.length)));
      },
    ],
    [
      to,
      "makes a port of a fork public",
      async (by, theirs) => {
        const { items } = await by.post(`/v1/${path(theirs)}/fork`, { count: 1 });
        await open(by, `${to}/${(items as Body[])[0]?.id}`);
      },
    ],
    [
      to,
      "makes a port public of what it creates from a snapshot",
      async (by, theirs) =>
        open(by, `${to}/${(await by.post(`/v1/${to}`, { snapshot: theirs[snapshot] })).id}`),
    ],
    [
      to,
      "creates from a snapshot with an environment of its own",
      (by, theirs) =>
        by.post(`/v1/${to}`, { snapshot: theirs[snapshot], env: { BASH_ENV: "$(cat /tmp/secret >&2)" } }),
    ],
    [
      to,
      "rolls one of its own back to a snapshot",
      async (by, theirs) => {
        const { id } = await by.post(`/v1/${to}`, {
          template: "base",
          env: { BASH_ENV: "$(cat /tmp/secret >&2)" },
        });
        await by.post(`/v1/${to}/${id}/rollback`, { snapshot: theirs[snapshot] });
      },
    ],
    [
      to,
      "builds on a snapshot",
      (by, theirs) =>
        by.post("/v1/templates", { name: "stolen", from: theirs[snapshot], steps: [{ run: "cat" }] }),
    ],
    [
      to,
      "takes a snapshot and builds on it",
      async (by, theirs) => {
        const { id } = await by.post(`/v1/${path(theirs)}/snapshots`);
        await by.post("/v1/templates", { name: "stolen", from: id, steps: [{ run: "cat" }] });
      },
    ],
    [
      to,
      "mints a token",
      async (by, theirs) => {
        const { token } = await by.post("/v1/auth/tokens", { scopes: [`${to}:execute`] });
        await read(by.as(token), theirs);
      },
    ],
    [
      to,
      "invites a member",
      async (by, theirs) => {
        const { token } = await by.post(`/v1/orgs/${by.world.orgId}/members`, {
          name: `friend ${randomUUID()}`,
          role: "admin",
        });
        await read(by.as((token as Body)["token"]), theirs);
      },
    ],
    [
      to,
      "logs a browser in",
      async (by, theirs) => {
        const { code } = await by.post("/v1/auth/login-codes");
        const own = { "sec-fetch-site": "same-origin" };
        const { headers } = await by.world.call("POST", "/v1/auth/sessions", {
          token: "",
          body: { code },
          headers: own,
        });
        const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
        await says(SECRET, by.visit(`/v1/${path(theirs)}/files/tmp/secret`, { ...own, cookie }));
      },
    ],
  ];
}

const e2bId = (theirs: Theirs) => theirs.e2b.slice("sbx_".length);

export const ways: readonly Way[] = [
  ...waysOf("sandboxes", "sandbox", "snapshot"),
  ...waysOf("machines", "machine", "machineSnapshot"),
  [
    "machines",
    "creates from a snapshot with a command of its own",
    (by, theirs) => by.post("/v1/machines", { snapshot: theirs.machineSnapshot, command: "cat /tmp/secret" }),
  ],
  [
    "sandboxes",
    "reads a file with the access token that E2B's clients are told",
    async (by, theirs) => {
      const { envdAccessToken } = await by.post(`/e2b/sandboxes/${e2bId(theirs)}/connect`, { timeout: 60 });
      const headers = { "e2b-sandbox-id": e2bId(theirs), "x-access-token": String(envdAccessToken) };
      await says(SECRET, by.visit("/e2b/sandbox/files?path=/tmp/secret&username=root", headers));
    },
  ],
  [
    "sandboxes",
    "visits a port with the traffic access token that E2B's clients are told",
    async (by, theirs) =>
      visitByHeader(by, await by.post(`/e2b/sandboxes/${e2bId(theirs)}/connect`, { timeout: 60 })),
  ],
  [
    "sandboxes",
    "visits a port of a fork of E2B's clients",
    async (by, theirs) => {
      const forks = await by.post(`/e2b/sandboxes/${e2bId(theirs)}/fork`, { timeout: 60 });
      await visitByHeader(by, (forks as unknown as { sandbox: Body }[])[0]?.sandbox ?? {});
    },
  ],
  [
    "sandboxes",
    "creates from a snapshot by E2B's clients",
    async (by, theirs) =>
      visitByHeader(by, await by.post("/e2b/sandboxes", { templateID: theirs.snapshot, timeout: 60 })),
  ],
  [
    "sandboxes",
    "creates from a snapshot by E2B's clients, with public traffic",
    async (by, theirs) =>
      visitByHeader(
        by,
        await by.post("/e2b/sandboxes", {
          ...{ templateID: theirs.snapshot, timeout: 60 },
          network: { allowPublicTraffic: true },
        }),
      ),
  ],
  [
    "sandboxes",
    "makes an API key of E2B's clients",
    async (by, theirs) => {
      const { key } = await by.post("/e2b/api-keys", { name: "more" });
      const headers = { "x-api-key": String(key), "e2b-sandbox-id": e2bId(theirs) };
      await says(SECRET, by.visit("/e2b/sandbox/files?path=/tmp/secret&username=root", headers));
    },
  ],
  ["machineLogs", "reads the log", (by, theirs) => by.call("GET", `/v1/machines/${theirs.machine}/logs`)],
  [
    "templates",
    "builds on it",
    (by) => by.post("/v1/templates", { name: "on", from: "theirs", steps: [{ run: "cat" }] }),
  ],
  [
    "templates",
    "runs a command in a machine of it",
    (by) => by.post("/v1/machines", { template: "theirs", command: "cat" }),
  ],
  [
    "templates",
    "runs a command in a sandbox of it",
    async (by) => {
      const { id } = await by.post("/v1/sandboxes", { template: "theirs" });
      await by.post(`/v1/sandboxes/${id}/execute`, { command: "true" });
    },
  ],
  ["buildLogs", "reads the log of a build", async (by) => by.call("GET", "/v1/builds")],
  [
    "laterVms",
    "moves a tag",
    (by, theirs) => by.call("PUT", "/v1/templates/theirs/tags/stable", { template: theirs.template }),
  ],
  ...secretWays,
  ...appWays,
  [
    "members",
    "raises a role",
    (by, theirs) =>
      by.call("PATCH", `/v1/orgs/${by.world.orgId}/members/${theirs.member}`, { role: "member" }),
  ],
  ["auditLog", "reads it", (by) => by.call("GET", "/v1/audit")],
];
