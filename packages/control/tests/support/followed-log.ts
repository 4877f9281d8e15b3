// Followers of `GET /v1/apps/{id}/logs?follow=true`, with what they have got.

import { expect } from "vitest";
import type { AppLogLine } from "@skerry/contract/apps/app-logs";
import { readEvents } from "../../../sdk/src/http/event-stream.ts";
import { eventually, type World } from "./world.ts";

export class FollowedLog {
  readonly lines: AppLogLine[] = [];
  /** All but lines. */
  readonly others: { readonly event: string; readonly data: Readonly<Record<string, unknown>> }[] = [];
  readonly #gone = new AbortController();
  readonly ended: Promise<void>;
  #cursor = "";
  #since: AppLogLine[] = [];

  private constructor(chunks: AsyncIterable<Uint8Array>, gone: AbortController) {
    this.#gone = gone;
    this.ended = this.#read(chunks).catch((error: unknown) => {
      if (!gone.signal.aborted && !(error instanceof TypeError)) throw error;
    });
  }

  static async open(world: World, query = "", url = world.url): Promise<FollowedLog> {
    const gone = new AbortController();
    const response = await fetch(`${url}/v1/apps/shop/logs?follow=true${query}`, {
      headers: { authorization: `Bearer ${world.token}` },
      signal: gone.signal,
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    return new FollowedLog(response.body as unknown as AsyncIterable<Uint8Array>, gone);
  }

  async #read(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const { event, data } of readEvents(chunks)) {
      const told = JSON.parse(data) as Readonly<Record<string, unknown>>;
      if (event === "line") {
        this.lines.push(told as AppLogLine);
        this.#since.push(told as AppLogLine);
        continue;
      }
      this.others.push({ event, data: told });
      if (typeof told["cursor"] !== "string") continue;
      this.#cursor = told["cursor"];
      this.#since = [];
    }
  }

  get texts(): string[] {
    return this.lines.map(({ line }) => line);
  }

  get events(): string[] {
    return this.others.map(({ event }) => event);
  }

  /** Text of a client that comes back. */
  get after(): string {
    const places = this.#since.map(({ machine_id, position }) => `,${machine_id}:${position}`);
    return `&after=${encodeURIComponent(this.#cursor + places.join(""))}`;
  }

  async until(texts: readonly string[]): Promise<void> {
    await eventually(
      () => this.lines.length >= texts.length,
      `the lines ${texts.join()} of ${this.texts.join()}`,
    );
    expect(this.texts).toEqual(texts);
  }

  async untilEvent(event: string): Promise<void> {
    await eventually(() => this.events.includes(event), `there is a ${event}`);
  }

  async leave(): Promise<void> {
    this.#gone.abort();
    await this.ended;
  }
}
