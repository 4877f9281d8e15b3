// Readers of `GET /v1/events`, page by page and as a stream.

import { sql } from "kysely";
import { expect } from "vitest";
import type { ResourceEvent, ResourceEventPage } from "@skerry/contract/events/resource-event";
import type { TokenCreated } from "@skerry/contract/organizations/token";
import { readEvents, type ServerEvent } from "../../../sdk/src/http/event-stream.ts";
import { eventually, type World } from "./world.ts";

/** Events of a world, asked for page by page. */
export class Events {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async page(query = "", token = this.#world.token): Promise<ResourceEventPage> {
    const answer = await this.#world.call<ResourceEventPage>("GET", `/v1/events${query}`, { token });
    expect(answer.status, answer.text).toBe(200);
    return answer.body;
  }

  /** A transaction that is still open holds back what comes after it, also one in the database of another test. */
  async untilAllIsTold(): Promise<void> {
    const { db } = this.#world;
    const { rows } = await sql<{ xid: string }>`select pg_current_xact_id()::text as xid`.execute(db);
    const xid = rows[0]?.xid ?? "";
    await eventually(async () => {
      const found = await sql<{ past: boolean }>`
        select pg_snapshot_xmin(pg_current_snapshot()) > ${xid}::xid8 as past`.execute(db);
      return found.rows[0]?.past === true;
    }, "the transactions from before have ended");
  }

  async latest(token = this.#world.token): Promise<string> {
    await this.untilAllIsTold();
    return (await this.page("?after=latest", token)).cursor;
  }

  /** Every item after this cursor. */
  async after(
    cursor: string,
    { token = this.#world.token, query = "" } = {},
  ): Promise<readonly ResourceEvent[]> {
    await this.untilAllIsTold();
    const items: ResourceEvent[] = [];
    for (let after = cursor; ;) {
      const read = await this.page(`?after=${after}&limit=3${query}`, token);
      items.push(...read.items);
      after = read.cursor;
      if (!read.more) return items;
    }
  }

  async mint(body: unknown = {}): Promise<TokenCreated> {
    return (await this.#world.call<TokenCreated>("POST", "/v1/auth/tokens", { body })).body;
  }

  /** Of sandboxes. */
  async versions(ids: readonly string[]): Promise<Map<string, number>> {
    const sandboxes = this.#world.db.selectFrom("sandboxes");
    const rows = await sandboxes.select(["id", "version"]).where("id", "in", ids).execute();
    return new Map(rows.map(({ id, version }) => [id, version]));
  }
}

interface ReaderOptions {
  readonly token?: string;
  readonly url?: string;
  readonly query?: string;
  readonly lastEventId?: string;
}

/** A reader of the stream: what it was told so far. */
export class EventReader implements AsyncDisposable {
  readonly told: ServerEvent[] = [];
  /** What it knows of each resource by now. */
  readonly known = new Map<string, ResourceEvent>();
  readonly #leaving = new AbortController();
  #done: Promise<unknown> = Promise.resolve();
  isOver = false;

  /** Throws what the server answers where that is no stream. */
  static async of(
    world: World,
    after: string,
    { token = world.token, url = world.url, query = "", lastEventId }: ReaderOptions = {},
  ): Promise<EventReader> {
    const reader = new EventReader();
    const response = await fetch(`${url}/v1/events?after=${after}${query}`, {
      headers: {
        authorization: `Bearer ${token}`,
        accept: "text/event-stream",
        ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      },
      signal: reader.#leaving.signal,
    });
    if (response.status !== 200 || response.body === null) throw new Error(await response.text());
    reader.#done = reader.#read(readEvents(response.body));
    return reader;
  }

  async #read(events: AsyncIterable<ServerEvent>): Promise<void> {
    try {
      for await (const event of events) this.#take(event);
    } catch {
      // The stream was cut off.
    }
    this.isOver = true;
  }

  #take(event: ServerEvent): void {
    this.told.push(event);
    if (["synced", "reset", "error"].includes(event.event)) return;
    const item = JSON.parse(event.data) as ResourceEvent;
    this.known.set(item.id, item);
  }

  get names(): string[] {
    return this.told.map(({ event }) => event);
  }

  get cursor(): string {
    return this.told.at(-1)?.id ?? "";
  }

  until(holds: (reader: EventReader) => boolean, what: string): Promise<void> {
    return eventually(() => holds(this), what);
  }

  synced(): Promise<void> {
    return this.until(({ names }) => names.includes("synced"), "it is synced");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leaving.abort();
    await this.#done;
  }
}
