import { beforeAll, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { watches } from "./support/fake-files.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let id: string;
beforeAll(async () => {
  id = (await world.createSandbox()).id;
});
beforeEach(() => world.host.failures.clear());

interface Told {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** A client of a watch: what it was told so far. */
class Client implements AsyncDisposable {
  readonly told: Told[] = [];
  readonly #leaving = new AbortController();
  #done: Promise<unknown> = Promise.resolve();
  status = 0;

  static async of(path: string, token = world.token): Promise<Client> {
    const client = new Client();
    const response = await fetch(`${world.url}/v1/sandboxes/${id}/watch/${path}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: client.#leaving.signal,
    });
    client.status = response.status;
    client.#done = client.#read(response).catch(() => undefined);
    return client;
  }

  async #read(response: Response): Promise<void> {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      const blocks = (text + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const [, event = "", data = "{}"] = /^event: (\S+)\ndata: (.*)$/s.exec(block) ?? [];
        this.told.push({ event, data: JSON.parse(data) as Record<string, unknown> });
      }
    }
  }

  get names(): string[] {
    return this.told.map(({ event }) => event);
  }

  until(event: string): Promise<void> {
    return eventually(() => this.names.includes(event), `${event} is told`);
  }

  leave(): void {
    this.#leaving.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.leave();
    await this.#done;
  }
}

test("a client is told what changes, until the directory is gone", async () => {
  await using client = await Client.of("kept/a%20b?recursive=true");
  await client.until("start");
  expect(world.host.urls.at(-1)).toContain("recursive=true");
  watches.tell("/kept/a b", { event: "create", path: "new", type: "directory" });
  watches.tell("/kept/a b", { event: "overflow", path: "", type: "directory" });
  watches.end("/kept/a b");
  await client.until("end");
  expect(client.told).toEqual([
    { event: "start", data: { event: "start", path: "", type: "directory" } },
    { event: "create", data: { event: "create", path: "new", type: "directory" } },
    { event: "overflow", data: { event: "overflow", path: "", type: "directory" } },
    { event: "end", data: {} },
  ]);
});

test("a watch ends in the guest when its client leaves", async () => {
  await using client = await Client.of("kept/left");
  await client.until("start");
  expect(watches.count("/kept/left")).toBe(1);
  client.leave();
  await eventually(() => watches.count("/kept/left") === 0, "the host is told");
});

test("a VM that has moved, or whose host was cut off, is watched again, and the client told that it may have missed something", async () => {
  await using client = await Client.of("kept/moving");
  await client.until("start");
  watches.end("/kept/moving", new SkerryError("vm_moving", "It is being moved."));
  await client.until("overflow");
  await eventually(() => watches.count("/kept/moving") === 1, "it is watched again");
  watches.tell("/kept/moving", { event: "write", path: "a", type: "file" });
  await client.until("write");
  watches.cut("/kept/moving");
  await eventually(() => client.names.filter((name) => name === "overflow").length === 2, "a second one");
});

test("a sandbox that has ended ends its watch, with the reason", async () => {
  const { id: other } = await world.createSandbox();
  const response = await fetch(`${world.url}/v1/sandboxes/${other}/watch/kept/ending`, {
    headers: { authorization: `Bearer ${world.token}` },
  });
  await world.call("DELETE", `/v1/sandboxes/${other}`);
  watches.end("/kept/ending", new SkerryError("vm_moving", "It is held."));
  expect(await response.text()).toMatch(/event: error\ndata: .*"sandbox_not_running"/);
});

test("what cannot be watched is refused before any event", async () => {
  expect((await Client.of("none")).status).toBe(404);
  expect((await Client.of("a%2F..%2Fb")).status).toBe(400);
  expect((await Client.of("work", await world.strangerToken())).status).toBe(404);
  world.host.failures.set("files", new SkerryError("too_many_watches", "There are too many."));
  expect((await Client.of("work")).status).toBe(422);
});

test("an event of a host that is none ends the watch with an error", async () => {
  await using client = await Client.of("kept/broken");
  await client.until("start");
  watches.tell("/kept/broken", { event: "explode", path: "a", type: "file" });
  await client.until("error");
  expect(client.told.at(-1)?.data).toMatchObject({ code: "internal" });
});
