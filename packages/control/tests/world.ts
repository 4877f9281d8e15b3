// A whole control plane for a test: a fresh database, a fake host, a server on a free port, and what it logged.

import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { sql } from "kysely";
import { pino } from "pino";
import { beforeEach, inject } from "vitest";
import type { Machine } from "@skerry/contract/machines";
import { limitNames, type OrganizationLimits } from "@skerry/contract/quotas";
import type { Sandbox } from "@skerry/contract/sandboxes";
import { heartbeat } from "../src/hosts/host-heartbeat.ts";
import { HostDirectory } from "../src/host-client/host-directory.ts";
import { buildServer, type Server } from "../src/app/server.ts";
import { Metrics } from "../src/metrics/metrics.ts";
import { AccessWatch } from "../src/auth/access-watch.ts";
import { Authority } from "../src/joining/certificate-authority.ts";
import { TokenCache } from "../src/auth/token-cache.ts";
import { HostCapacity } from "../src/capacity/host-capacity.ts";
import { VmLocations } from "../src/vms/vm-locations.ts";
import type { Context, InstallationLimits, ServiceName } from "../src/context.ts";
import { bootstrap } from "../src/organizations/token-service.ts";
import { openDatabase, type Database } from "../src/db/database.ts";
import { ApiDocument } from "./documented.ts";
import { FakeHost } from "./fake-host.ts";
import { TEMPLATE_DATABASE } from "./global-setup.ts";

export type LogLine = Readonly<Record<string, unknown>>;

export interface Answer<T = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: T;
}

/** No test meets a limit by accident; those that try limits set their own. */
export const generousLimits: InstallationLimits = {
  // Object.fromEntries forgets which names it was given.
  organization: Object.fromEntries(limitNames.map((name) => [name, 1_000_000])) as OrganizationLimits,
  authFailuresPerMinute: 1_000_000,
  vcpusPerCpu: 16,
};

/** Those that are open. */
const worlds = new Set<World>();
// A host that was silent for long gets no VMs, and the tests before this one may have taken long.
beforeEach(async () => {
  for (const { db } of worlds)
    await sql`update hosts set last_heartbeat = now() where status = 'online'`.execute(db);
});

export class World implements AsyncDisposable {
  readonly host = new FakeHost();
  readonly log: LogLine[] = [];
  readonly db: Database;
  readonly context: Context;
  readonly databaseUrl: string;
  readonly rung: ServiceName[] = [];
  token = "";
  orgId = "";
  readonly #endings: (() => Promise<void>)[] = [];
  #server: Server | undefined;
  #document: ApiDocument | undefined;

  private constructor(databaseUrl: string) {
    this.databaseUrl = databaseUrl;
    this.db = openDatabase(databaseUrl, () => undefined);
    const log = pino(
      { level: "debug", base: null },
      { write: (line: string) => void this.log.push(JSON.parse(line) as LogLine) },
    );
    const tokenCache = new TokenCache(this.db);
    const authority = new Authority(this.db);
    this.context = {
      db: this.db,
      hostCapacity: new HostCapacity(this.db),
      vmLocations: new VmLocations(),
      hosts: new HostDirectory(() => authority.credentials()),
      authority,
      log,
      metrics: new Metrics(),
      tokenCache,
      watch: new AccessWatch(tokenCache),
      limits: generousLimits,
      wake: (service) => void this.rung.push(service),
    };
  }

  /** Everything is up, the host has sent a heartbeat, and there is a token. */
  static async open(): Promise<World> {
    const world = new World(await freshDatabase());
    await world.host.start();
    await world.beat();
    const { token, organization_id } = await bootstrap(world.db, "test");
    world.token = token;
    world.orgId = organization_id;
    world.#server = await buildServer(world.context);
    world.#document = new ApiDocument(world.#server.app.swagger());
    await world.#server.app.listen({ host: "127.0.0.1", port: 0 });
    worlds.add(world);
    return world;
  }

  get server(): Server {
    if (this.#server === undefined) throw new Error("the server is not up");
    return this.#server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.app.server.address() as AddressInfo).port}`;
  }

  /** For what a test makes on its way: it ends with the world. */
  after(end: () => Promise<void>): void {
    this.#endings.push(end);
  }

  async beat(): Promise<void> {
    await heartbeat(this.context, { hostSocket: this.host.socketPath, everyMs: 1_000, graceMs: 0 }).activate(
      new AbortController().signal,
    );
  }

  async call<T = Record<string, unknown>>(
    method: string,
    path: string,
    {
      body,
      headers = {},
      token = this.token,
      url = this.url,
    }: { body?: unknown; headers?: Record<string, string>; token?: string; url?: string } = {},
  ): Promise<Answer<T>> {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const type = response.headers.get("content-type") ?? "";
    this.#document?.check({
      method,
      path,
      status: response.status,
      type,
      headers: Object.fromEntries(response.headers),
      text,
    });
    const json = type.includes("json");
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (json ? JSON.parse(text) : {}) as T,
    };
  }

  async createSandbox(request: Record<string, unknown> = {}): Promise<Sandbox> {
    const answer = await this.call<Sandbox>("POST", "/v1/sandboxes", {
      body: { template: "base", ...request },
    });
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body;
  }

  async createMachine(request: Record<string, unknown> = {}): Promise<Machine> {
    const answer = await this.call<Machine>("POST", "/v1/machines", {
      body: { template: "base", ...request },
    });
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body;
  }

  /** Another organization with a user and a token of its own. */
  async strangerToken(): Promise<string> {
    const suffix = randomUUID().slice(0, 8);
    await sql`insert into users (id, name) values (${`usr_${suffix}`}, 'stranger')`.execute(this.db);
    await sql`insert into organizations (id, name) values (${`org_${suffix}`}, 'strange')`.execute(this.db);
    await sql`insert into memberships (org_id, user_id, role) values (${`org_${suffix}`}, ${`usr_${suffix}`}, 'owner')`.execute(
      this.db,
    );
    const minted = await this.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", { body: {} });
    await sql`
      update api_tokens set org_id = ${`org_${suffix}`}, user_id = ${`usr_${suffix}`}
      where id = ${minted.body.id}`.execute(this.db);
    return minted.body.token;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    worlds.delete(this);
    await this.#server?.stop(0);
    await this.context.hosts.close();
    await Promise.all(this.#endings.map((end) => end()));
    await this.host[Symbol.asyncDispose]();
    await this.db.destroy();
  }
}

/** Resolves when the condition holds; for things that happen on the other side of a socket. */
export async function eventually(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`it did not happen: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Statements that wait for what another transaction holds. */
export async function waitingForLocks(db: Database): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`
    select count(*)::integer as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
  return rows[0]?.waiting ?? 0;
}

async function freshDatabase(): Promise<string> {
  const folder = inject("controlPostgres");
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const admin = openDatabase(`postgresql:///postgres?host=${folder}&user=skerry`, () => undefined);
  // Two files that copy the template at the same time would disturb each other.
  await admin.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(1)`.execute(connection);
    await sql.raw(`create database ${name} template ${TEMPLATE_DATABASE}`).execute(connection);
    await sql`select pg_advisory_unlock(1)`.execute(connection);
  });
  await admin.destroy();
  return `postgresql:///${name}?host=${folder}&user=skerry`;
}
