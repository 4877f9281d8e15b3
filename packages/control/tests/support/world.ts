// A whole control plane for a test: a fresh database, a fake host, a server on a free port, and what it logged.

import { randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, inject } from "vitest";
import type { Machine } from "@skerry/contract/machines/machine";
import { limitNames, type OrganizationLimits } from "@skerry/contract/limits/quotas";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { heartbeat } from "../../src/hosts/heartbeat.ts";
import { makeContext } from "../../src/app/make-context.ts";
import { buildServer, type Server } from "../../src/app/server.ts";
import { ContextState, type Context, type InstallationLimits, type ServiceName } from "../../src/context.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { formatRootKeys, newRootKey } from "@skerry/contract/sealing/root-key-file";
import { bootstrap } from "../../src/organizations/tokens.ts";
import { isDatabaseOutage, openDatabase, type Database } from "../../src/db/database.ts";
import { ApiDocument } from "./api-document.ts";
import { FakeHost } from "./fake-host.ts";
import { TEMPLATE_DATABASE } from "./global-setup.ts";
import { handedOut } from "./handed-out.ts";

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
  downloadsPerMinute: 1_000_000,
  visitorsPerMinute: 1_000_000,
  vcpusPerCpu: 16,
  idempotencyWaitMs: 25_000,
  buildCacheGib: 0,
  buildCacheHostGib: 100,
  buildCacheStepMs: 0,
  metricsOrganizations: 0,
};

/** One world for all tests of a file. It is open when their own `beforeAll` begins, and closed after their `afterAll`. */
export function useWorld(limits: Partial<InstallationLimits> = {}): World {
  const world = new World({ ...generousLimits, ...limits });
  beforeAll(() => world.start());
  // A host that was silent for long gets no VMs, and the tests before this one may have taken long.
  beforeEach(() => world.keepHostsFresh());
  afterAll(() => world[Symbol.asyncDispose]());
  return world;
}

export class World implements AsyncDisposable {
  readonly host = new FakeHost();
  readonly log: LogLine[] = [];
  readonly db: Database;
  readonly context: Context;
  readonly databaseUrl = newDatabaseUrl();
  readonly rung: ServiceName[] = [];
  /** Of its own. */
  readonly rootKeyFile = join(tmpdir(), `skerry-test-root-key-${randomUUID()}`);
  token = "";
  orgId = "";
  readonly #endings: (() => Promise<void>)[] = [];
  #server: Server | undefined;
  #document: ApiDocument | undefined;

  constructor(limits: InstallationLimits = generousLimits) {
    this.db = openDatabase(this.databaseUrl, () => undefined);
    writeFileSync(this.rootKeyFile, formatRootKeys([newRootKey()]), { mode: 0o400 });
    const log = pino(
      { level: "debug", base: null },
      { write: (line: string) => void this.log.push(JSON.parse(line) as LogLine) },
    );
    this.context = makeContext(this.db, log, {
      limits,
      sealing: new Sealing(this.rootKeyFile),
      clients: handedOut(),
      wake: (service) => void this.rung.push(service),
    });
  }

  static async open(): Promise<World> {
    const world = new World();
    await world.start();
    return world;
  }

  /** Afterwards everything is up, the host has sent a heartbeat, and there is a token. */
  async start(): Promise<void> {
    await createDatabase(this.databaseUrl);
    await this.host.start();
    await this.beat();
    const { token, organization_id } = await bootstrap(this.db, "test");
    this.token = token;
    this.orgId = organization_id;
    this.#server = await buildServer(this.context);
    this.#document = new ApiDocument(this.#server.app.swagger());
    await this.#server.app.listen({ host: "127.0.0.1", port: 0 });
  }

  get server(): Server {
    if (this.#server === undefined) throw new Error("the server is not up");
    return this.#server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.app.server.address() as AddressInfo).port}`;
  }

  /**
   * The context of another control plane on this database and this host, which is like the world's but for
   * `changes`.
   */
  contextWith(changes: Partial<Context>): Context {
    return { ...this.context, state: new ContextState(), ...changes };
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

  /** On a machine that is busy with other work the database may answer later than control would wait. */
  async keepHostsFresh(): Promise<void> {
    await eventually(async () => {
      try {
        await sql`update hosts set last_heartbeat = now() where status = 'online'`.execute(this.db);
        return true;
      } catch (error) {
        if (isDatabaseOutage(error)) return false;
        throw error;
      }
    }, "the database answers");
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
    const json = /^application\/json\b/.test(type);
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
    await this.#server?.stop(0);
    await this.context.hosts.close();
    await Promise.all(this.#endings.map((end) => end()));
    await this.host[Symbol.asyncDispose]();
    await this.db.destroy();
    // A run that kept them all would have hundreds of thousands of files to remove at its end.
    await administer(
      (admin, name) => sql`drop database if exists ${sql.id(name)} with (force)`.execute(admin),
      this.databaseUrl,
    );
    rmSync(this.rootKeyFile, { force: true });
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

function newDatabaseUrl(): string {
  return urlOf(`test_${randomUUID().replaceAll("-", "")}`);
}

function urlOf(database: string): string {
  return `postgresql:///${database}?host=${inject("controlPostgres")}&user=skerry`;
}

async function createDatabase(url: string): Promise<void> {
  await administer(async (admin, name) => {
    // Two files that copy the template at the same time would disturb each other.
    await sql`select pg_advisory_lock(1)`.execute(admin);
    const template = sql.id(TEMPLATE_DATABASE);
    await sql`create database ${sql.id(name)} template ${template} strategy file_copy`.execute(admin);
    await sql`select pg_advisory_unlock(1)`.execute(admin);
  }, url);
}

/** Does something with the database of this name, on one connection to another. */
async function administer(
  act: (admin: Database, name: string) => Promise<unknown>,
  url: string,
): Promise<void> {
  const admin = openDatabase(urlOf("postgres"), () => undefined);
  try {
    await admin.connection().execute((connection) => act(connection, new URL(url).pathname.slice(1)));
  } finally {
    await admin.destroy();
  }
}
