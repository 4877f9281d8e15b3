import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { Skerry, UnauthorizedError, type FollowedChange } from "../src/skerry.ts";
import { ScriptedServer, sendJson, type Answer } from "./support/scripted-server.ts";

const tell = (response: ServerResponse, event: string, id: string, data: unknown) =>
  response.write(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
const change = (id: string) => ({ kind: "sandbox", id, version: 1, resource: { id } });

/** One answer after the other, the last one again and again. */
function scripted(...answers: readonly Answer[]): Answer {
  let next = 0;
  return (response, request) => answers[Math.min(next++, answers.length - 1)]?.(response, request);
}

const streaming =
  (write: (response: ServerResponse) => void): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    write(response);
  };

test("a reader of events goes on where it was when the connection breaks, the server ends it, or refuses for a while", async () => {
  const answer = scripted(
    streaming((response) => {
      tell(response, "synced", "c1", { cursor: "c1", now: "2026-11-20T16:21:09.123Z" });
      tell(response, "sandbox", "c2", change("one"));
      tell(response, "later", "c2", { unknown: true });
      response.write("", () => response.destroy());
    }),
    (response) => sendJson(response, 503, { code: "shutting_down", message: "The server is ending." }),
    streaming((response) => {
      tell(response, "sandbox", "c3", change("two"));
      tell(response, "error", "", { code: "database_unavailable", message: "It does not answer." });
      response.end();
    }),
    streaming((response) => tell(response, "reset", "c9", { reason: "too_old", cursor: "c9" })),
  );
  await using server = await ScriptedServer.start(answer);
  const skerry = new Skerry({ baseUrl: server.baseUrl, token: "sk_test", retries: 0 });
  const told: FollowedChange[] = [];
  for await (const one of skerry.events({ kinds: ["sandbox", "machine"] })) if (told.push(one) === 4) break;
  expect(told.map(({ type, cursor }) => [type, cursor])).toEqual([
    ["synced", "c1"],
    ["changed", "c2"],
    ["changed", "c3"],
    ["reset", "c9"],
  ]);
  expect(server.received.map(({ url }) => url)).toEqual([
    "/v1/events?kind=sandbox%2Cmachine",
    "/v1/events?after=c2&kind=sandbox%2Cmachine",
    "/v1/events?after=c2&kind=sandbox%2Cmachine",
    "/v1/events?after=c3&kind=sandbox%2Cmachine",
  ]);
});

test("a refusal that does not pass ends the reading, and so does the caller's signal", async () => {
  const refused = { code: "unauthorized", message: "No." };
  await using server = await ScriptedServer.start((response) => sendJson(response, 401, refused));
  const skerry = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  await expect(skerry.events().next()).rejects.toThrow(UnauthorizedError);
  const away = new Skerry({ baseUrl: "http://127.0.0.1:1", token: "sk_test", retries: 0 });
  const leaving = new AbortController();
  const next = away.events({}, { signal: leaving.signal }).next();
  leaving.abort(new Error("enough"));
  await expect(next).rejects.toThrow("enough");
});
