// `skerry up` and `skerry down` on a machine that others use too: who else is at work, who holds the port, whose files are in the way.

import { once } from "node:events";
import { appendFile, lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { fileLimit, SERVICE_FILES } from "@skerry/contract/connections/file-limit";
import { readConfig } from "../packages/host/src/config/config.ts";
import { psql } from "./support/organizations.ts";
import {
  newInstallation,
  nothingWaits,
  openPlatform,
  serverPid,
  skerry,
  skerryWithFiles,
  untilReplaced,
} from "./support/platform.ts";
import { copyDatabase } from "./support/prepared-database.ts";
import { run } from "./support/run.ts";
import { fullTest } from "./support/full-test.ts";

/** An installation of one test, which is stopped and removed at its end. */
async function installation(env: Readonly<Record<string, string>> = {}) {
  const made = await newInstallation({ assets: inject("assets"), env: { ...nothingWaits, ...env } });
  return {
    ...made,
    async [Symbol.asyncDispose]() {
      await skerry(made.env, "down");
      await rm(made.state, { recursive: true, force: true });
    },
  };
}

// Installation of the first tests: starting one that runs is no work.
let one: Awaited<ReturnType<typeof installation>>;
beforeAll(async () => {
  one = await installation();
});
afterAll(() => one[Symbol.asyncDispose]());

test("a database folder that does not say that it was made to its end is left as it is, and an up that fails leaves no network behind", async () => {
  const [data, base] = [join(one.state, "postgres"), join(one.state, "postgres/base")];
  await mkdir(data, { recursive: true });
  await writeFile(base, "a restored database");
  const failure = await skerry(one.env, "up").catch((error: unknown) => String(error));
  expect(failure).toContain(`${data} has files, and none says that its database was made to its end`);
  expect(await readFile(base, "utf8")).toBe("a restored database");
  const { table, linkPrefix } = readConfig({
    ...{ SKERRY_HOST_STATE: join(one.state, "host"), SKERRY_NATIVE: "/", SKERRY_TEMPLATES: "/" },
  }).network;
  expect(await run("nft", "list", "tables")).not.toContain(table);
  expect(networkInterfaces()[`lo:${linkPrefix}`]).toBeUndefined();
  // The next test makes a database there.
  await rm(base);
});

test("two skerry up at once start one Skerry, and both end when it is ready", async () => {
  await Promise.all([skerry(one.env, "up"), skerry(one.env, "up")]);
  expect(await supervisorsOf(one.state)).toHaveLength(1);
  const platform = await openPlatform(one.state, one.env);
  expect(await platform.client.health()).toBeDefined();
});

test("the private database has connections for four control processes, also where a version before has made it", async () => {
  const settings = join(one.state, "postgres/postgresql.conf");
  await skerry(one.env, "down");
  await appendFile(settings, "max_connections = 50\n");
  await skerry(one.env, "up");
  await psql(
    one,
    "do $$ begin if current_setting('max_connections')::integer < 4 * 40 then raise 'too few'; end if; end $$",
  );
});

test("the operator sees hosts and background services at the command line, and runs one by hand", async () => {
  await skerry(one.env, "up");
  const { client } = await openPlatform(one.state, one.env);
  const [host] = (await client.hosts.page()).items;
  const table = await skerry(one.env, "host", "list");
  expect(table).toContain(`${host?.id}`);
  expect(await skerry(one.env, "host", "show", host?.id ?? "")).toContain("online since");
  const ran = JSON.parse(
    await skerry(one.env, "service", "run", "vm-cleanup", "--wait", "--json"),
  ) as unknown;
  expect(ran).toMatchObject({ name: "vm-cleanup", last_run: { outcome: "success", failed: 0 } });
  expect(await skerry(one.env, "status")).toMatch(/ports +ok +http:\/\/PORT-ID\.localhost:\d+\//);
  expect(await skerry(one.env, "status")).toMatch(/event loop +(ok|slow) +.* late by at most \d+ ms/);
  expect(await skerry(one.env, "background-service", "list")).toMatch(/vm-cleanup .*success/);
  await expect(skerry(one.env, "service", "run", "nothing")).rejects.toThrow(
    /no background service "nothing".*background-service list/s,
  );
  const token = (await skerry(one.env, "admin-token", "--name", "found again")).trim();
  const me = await skerry({ ...one.env, SKERRY_API_TOKEN: token }, "whoami", "--json");
  expect(JSON.parse(me)).toMatchObject({ token_name: "found again", role: "owner" });
  expect(await skerry(one.env, "host", "drain", host?.id ?? "", "--json")).toContain('"maintenance"');
  await expect(client.sandboxes.create({ template: "base" })).rejects.toThrow(
    /No host takes new VMs now: 1 is in maintenance/,
  );
  expect(await skerry(one.env, "status")).toMatch(/hosts +drained +1 maintenance/);
  expect(await skerry(one.env, "host", "activate", host?.id ?? "", "--json")).toContain('"online"');
});

test("the servers may open the files that their own limits need, whatever the session of skerry up allows, or the log says how many", async () => {
  const raise = ["prlimit", `--nofile=${SERVICE_FILES}:${SERVICE_FILES}`, "true"];
  const isAllowed = await run("prlimit", "--nofile=4096:4096", ...raise).then(
    () => true,
    () => false,
  );
  await using here = await installation();
  await skerryWithFiles(4_096, here.env, "up");
  const platform = await openPlatform(here.state, here.env);
  for (const server of ["control", "host"] as const) {
    const limits = await readFile(`/proc/${await serverPid(platform, server)}/limits`, "utf8");
    expect(limits, server).toMatch(/^Max core file size +0 +0 /m);
    expect(fileLimit(limits), server).toBe(isAllowed ? SERVICE_FILES : 4_096);
  }
  const log = await readFile(join(here.state, "log/supervisor.log"), "utf8").catch(() => "");
  expect(log.includes(" the servers may open 4096 files: prlimit: ")).toBe(!isAllowed);
});

test("the supervisor's log says how a server ended", async () => {
  await skerry(one.env, "up");
  const platform = await openPlatform(one.state, one.env);
  const killed = await serverPid(platform, "control");
  process.kill(killed, "SIGKILL");
  await untilReplaced(platform, "control", killed);
  const log = await readFile(join(one.state, "log/supervisor.log"), "utf8");
  expect(log).toMatch(/ control ended \(SIGKILL\); starting it again in \d+ ms\n/);
});

// Installation of the next two tests: an `up` that is refused begins nothing, so the second test finds what a
// first one finds.
let other: Awaited<ReturnType<typeof installation>>;
beforeAll(async () => {
  other = await installation();
  await copyDatabase(other.state);
});
afterAll(() => other[Symbol.asyncDispose]());

test("no link in the log folder is followed", async () => {
  const [logs, victim] = [join(other.state, "log"), join(other.state, "victim")];
  await mkdir(logs);
  await symlink(victim, join(logs, "supervisor.log"));
  await expect(skerry(other.env, "up")).rejects.toThrow("supervisor.log is a link");
  await expect(stat(victim)).rejects.toThrow("ENOENT");
  await rm(join(logs, "supervisor.log"));
});

test("settings for another server are kept, the token of this one is saved beside them, and nobody but root writes to the log folder", async () => {
  const folder = join(other.state, "config/skerry");
  const settings = { api_url: "https://skerry.example", token: "sk_theirs" };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "config.json"), JSON.stringify(settings), { mode: 0o600 });
  expect(await skerry(other.env, "up")).toContain("is for https://skerry.example and was kept");
  expect(JSON.parse(await readFile(join(folder, "config.json"), "utf8"))).toEqual(settings);
  const ours = JSON.parse(await readFile(join(folder, "local.json"), "utf8")) as {
    api_url: string;
    token: string;
  };
  const env = { ...other.env, SKERRY_API_URL: ours.api_url, SKERRY_API_TOKEN: ours.token };
  expect(await skerry(env, "sandbox", "list", "--json")).toContain("[");
  const logs = join(other.state, "log");
  for (const file of [logs, ...(await readdir(logs)).map((name) => join(logs, name))]) {
    const { uid, mode } = await lstat(file);
    expect({ file, uid, open: mode & 0o022 }).toEqual({ file, uid: 0, open: 0 });
  }
});

test("whoever holds the port is named and gets nothing from skerry up", async () => {
  const squatter = await Squatter.open();
  try {
    await using here = await installation({ SKERRY_LISTEN: `127.0.0.1:${squatter.port}` });
    const failure = await skerry(here.env, "up").catch((error: unknown) => String(error));
    expect(failure).toContain(`127.0.0.1:${squatter.port} is held by pid ${process.pid} `);
    expect(failure).toContain("SKERRY_LISTEN");
    // Nor from the other command that speaks to the port.
    await expect(skerry(here.env, "status")).rejects.toThrow(`held by pid ${process.pid} `);
    expect(squatter.connections).toBe(0);
  } finally {
    await squatter.close();
  }
});

test("settings that control refuses end skerry up before anything is started", async () => {
  await using bare = await installation();
  const [cert, key] = [join(bare.state, "api.crt"), join(bare.state, "api.key")];
  await writeFile(cert, "not a certificate", { mode: 0o644 });
  await writeFile(key, "root's alone", { mode: 0o600 });
  const env = { ...bare.env, SKERRY_TLS_CERT: cert, SKERRY_TLS_KEY: key };
  await expect(skerry(env, "up")).rejects.toThrow(/SKERRY_TLS_KEY names a file that cannot be read/);
  await expect(skerry({ ...bare.env, SKERRY_AUDIT_RETENTION_DAYS: "two" }, "up")).rejects.toThrow(
    "SKERRY_AUDIT_RETENTION_DAYS",
  );
  await expect(lstat(join(bare.state, "run/supervisor.json"))).rejects.toThrow("ENOENT");
});

// It takes a minute until servers count as not ready.
fullTest(
  "an up that did not get ready is mended by one with other settings",
  async () => {
    await using here = await installation();
    // Control's user may not listen there.
    const failure = await skerry({ ...here.env, SKERRY_LISTEN: "127.0.0.1:81" }, "up").catch(
      (error: unknown) => String(error),
    );
    expect(failure).toContain("Cannot listen on 127.0.0.1:81");
    expect(await skerry(here.env, "up")).toMatch(/^Stop the servers that are not ready/m);
    const platform = await openPlatform(here.state, here.env);
    expect(await platform.client.health()).toBeDefined();
    expect(await supervisorsOf(here.state)).toHaveLength(1);
  },
  300_000,
);

test("skerry down where nothing was set up says so and makes nothing", async () => {
  const state = `/tmp/skerry-nowhere-${process.pid}`;
  expect(await skerry({ SKERRY_STATE: state }, "down")).toContain(`Nothing is set up in ${state}`);
  await expect(stat(state)).rejects.toThrow("ENOENT");
});

test("a state folder whose sockets would have too long a path is refused, with the limit", async () => {
  const state = `/tmp/${"x".repeat(60)}`;
  await expect(skerry({ SKERRY_STATE: state }, "up")).rejects.toThrow(
    /SKERRY_STATE must be an absolute path of at most \d+ bytes; ".*" has 65\./,
  );
});

async function supervisorsOf(state: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry));
  const read = (pid: string, name: string) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "");
  const found = await Promise.all(
    pids.map(async (pid) => {
      const mine = (await read(pid, "environ")).split("\0").includes(`SKERRY_STATE=${state}`);
      return mine && (await read(pid, "cmdline")).split("\0").includes("supervise") ? [pid] : [];
    }),
  );
  return found.flat();
}

/** Listens where Skerry should, and counts who comes. */
class Squatter {
  readonly port: number;
  connections = 0;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
    server.on("connection", (socket) => {
      this.connections += 1;
      socket.destroy();
    });
  }

  static async open(): Promise<Squatter> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return new Squatter(server, address.port);
  }

  async close(): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }
}
