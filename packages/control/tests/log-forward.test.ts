// Logs of apps that are forwarded to real receivers, with a fake host's consoles.

import { sql } from "kysely";
import { expect, test } from "vitest";
import { useForwarding } from "./support/forwarding.ts";
import { OtlpReceiver, SyslogReceiver, textsOf } from "./support/log-receivers.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const forwarding = useForwarding(world);
const { certificate, control, forwardOnce, setForward, forwardOf, liveInstance } = forwarding;
const { console } = world.host;

const numbered = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, at) => `line ${from + at}`);
const printed = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

test("syslog over TLS gets each line once, from when it was set, over deploys and to the last", async () => {
  await using receiver = await new SyslogReceiver(certificate).listen();
  const old = await liveInstance();
  console.print(old, "before\n", Date.now() - 60_000);
  expect((await setForward({ url: receiver.url })).status).toBe(200);
  console.print(old, "one\n[    0.000000] a kernel\nERROR two\nunfinish");
  await forwardOnce();
  expect(receiver.texts).toEqual(["one", "ERROR two"]);
  expect(receiver.messages[1]).toMatch(new RegExp(`^<131>1 20\\S+Z ${old} shop web\\.1 1 - ERROR two$`));
  console.print(old, "ed\nlast");
  await forwarding.untilLive(await forwarding.deploy());
  const [{ machine_id: fresh } = { machine_id: "" }] = (await forwarding.getApp()).instances;
  console.print(fresh, "three\n");
  await forwardOnce();
  await forwardOnce();
  expect(receiver.texts.slice(2).toSorted()).toEqual(["last", "three", "unfinished"]);
  // Nothing of what was sent is read again.
  console.asked.length = 0;
  await forwardOnce();
  expect(console.asked).toEqual([`${fresh} 6`]);
  expect(await forwardOf()).toMatchObject({ url: receiver.url, header: null, fault: null });
  expect((await setForward(null)).body.log_forward).toBeNull();
  const { rows } = await sql`select 1 from log_cursors`.execute(world.db);
  expect(rows).toEqual([]);
});

test("OTLP gets lines with their labels, and the secret of its header, which nothing else shows", async () => {
  await using receiver = await new OtlpReceiver(certificate).listen();
  const value = "Bearer a-token-of-the-receiver";
  await world.call("PUT", "/v1/secrets/LOGS_TOKEN", { body: { value } });
  const id = await liveInstance();
  const header = { name: "Authorization", secret: "LOGS_TOKEN" };
  const set = await setForward({ url: receiver.url, header });
  expect(set.body.log_forward).toMatchObject({ url: receiver.url, header });
  console.print(id, '{"level":"warn","msg":"x"}\n');
  await forwardOnce();
  const [request] = receiver.requests;
  expect([request?.path, request?.headers.authorization, request?.headers.host]).toEqual([
    ...["/v1/logs", value, `logs.test:${receiver.port}`],
  ]);
  expect(request?.body.resourceLogs[0]?.scopeLogs[0]?.logRecords).toEqual([
    expect.objectContaining({ severityText: "WARN", body: { stringValue: '{"level":"warn","msg":"x"}' } }),
  ]);
  const shown = [set.text, JSON.stringify(world.log), JSON.stringify(await forwarding.getApp())];
  const { rows } = await sql<{ text: string }>`select log_forwards::text as text from log_forwards`.execute(
    world.db,
  );
  expect([...shown, ...rows.map(({ text }) => text)].join()).not.toContain("a-token-of-the-receiver");
  // The newest value counts, and one that is gone is told.
  await world.call("PUT", "/v1/secrets/LOGS_TOKEN", { body: { value: "Bearer other" } });
  console.print(id, "next\n");
  await forwardOnce();
  expect(receiver.requests.at(-1)?.headers.authorization).toBe("Bearer other");
  await world.call("DELETE", "/v1/secrets/LOGS_TOKEN");
  console.print(id, "kept back\n");
  await forwardOnce();
  expect((await forwardOf())?.fault?.message).toContain("LOGS_TOKEN");
  expect(receiver.texts).not.toContain("kept back");
});

test("what a receiver refuses comes later, and the fault says what and since when until then", async () => {
  await using receiver = await new OtlpReceiver(certificate).listen();
  const id = await liveInstance();
  await setForward({ url: receiver.url });
  receiver.answer = (response) => void response.writeHead(503).end("x".repeat(1_000_000));
  console.print(id, printed(numbered(700)));
  const broken = control();
  await forwardOnce(broken);
  const first = (await forwardOf())?.fault;
  expect(first).toMatchObject({ message: "It answers 503." });
  // It pauses, and asks for nothing meanwhile.
  await forwardOnce(broken);
  expect(receiver.requests).toHaveLength(1);
  receiver.answer = (response) => void response.writeHead(401).end();
  await forwardOnce();
  expect((await forwardOf())?.fault).toEqual({ message: "It answers 401.", since: first?.since });
  receiver.mode = "breaks off";
  await forwardOnce();
  expect((await forwardOf())?.fault).toEqual({
    message: "It breaks off the connection.",
    since: first?.since,
  });
  receiver.mode = "takes";
  receiver.answer = (response) => void response.end();
  receiver.requests.length = 0;
  await forwardOnce();
  expect(receiver.texts).toEqual(numbered(700));
  expect((await forwardOf())?.fault).toBeNull();
});

test("no line is lost where control ends in the middle, and none comes twice but of one batch", async () => {
  await using receiver = await new OtlpReceiver(certificate).listen();
  const id = await liveInstance();
  await setForward({ url: receiver.url });
  console.print(id, printed(numbered(1_700)));
  const stop = new AbortController();
  receiver.answer = (response) => {
    // The second batch was taken, but control does not hear of it.
    if (receiver.requests.length === 2) stop.abort();
    else response.end();
  };
  await forwardOnce(control(), stop.signal);
  expect(receiver.requests).toHaveLength(2);
  console.print(id, printed(numbered(10, 1_700)));
  receiver.answer = (response) => void response.end();
  await forwardOnce();
  expect(new Set(receiver.texts)).toEqual(new Set(numbered(1_710)));
  const batches = receiver.requests.map(({ body }) => textsOf(body));
  expect(batches[2]).toEqual(batches[1]);
  expect(receiver.texts).toHaveLength(1_710 + (batches[1]?.length ?? 0));
  expect((await forwardOf())?.fault).toBeNull();
});

test("a receiver that hangs holds up neither another app nor its own later lines", async () => {
  await using hanging = await new SyslogReceiver(certificate).listen();
  await using well = await new SyslogReceiver(certificate).listen();
  hanging.mode = "hangs";
  const [one, other] = [await liveInstance("stuck"), await liveInstance("fine")];
  await setForward({ url: hanging.url }, "stuck");
  await setForward({ url: well.url }, "fine");
  console.print(one, "one\n");
  console.print(other, "first\n");
  const turn = forwardOnce();
  await eventually(() => hanging.open === 1 && well.texts.length === 1, "both were tried");
  console.print(other, "second\n");
  await eventually(() => well.texts.length === 2, "the other one goes on");
  expect(hanging.open).toBe(1);
  await turn;
  expect((await forwardOf("stuck"))?.fault?.message).toBe("It does not take the lines in time.");
  expect((await forwardOf("fine"))?.fault).toBeNull();
  hanging.mode = "takes";
  console.print(one, "two\n");
  await forwardOnce();
  expect(hanging.texts).toEqual(["one", "two"]);
});

test("a receiver that is slow gets all lines in their order, a batch at a time", async () => {
  await using receiver = await new OtlpReceiver(certificate).listen();
  let atOnce = 0;
  let most = 0;
  receiver.answer = (response) => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    setTimeout(() => {
      atOnce -= 1;
      response.end();
    }, 50);
  };
  const id = await liveInstance();
  await setForward({ url: receiver.url });
  console.print(id, printed(numbered(3_000)));
  await forwardOnce();
  expect(receiver.texts).toEqual(numbered(3_000));
  expect(most).toBe(1);
  for (const { headers } of receiver.requests)
    expect(Number(headers["content-length"])).toBeLessThan(1024 * 1024);
});

test("another receiver in the place of one gets what that has not taken", async () => {
  await using first = await new SyslogReceiver(certificate).listen();
  await using second = await new SyslogReceiver(certificate).listen();
  const id = await liveInstance();
  await setForward({ url: first.url });
  console.print(id, "one\n");
  await forwardOnce();
  first.mode = "breaks off";
  console.print(id, "two\n");
  const context = control();
  await forwardOnce(context);
  expect((await forwardOf())?.fault).not.toBeNull();
  expect((await setForward({ url: second.url })).body.log_forward).toMatchObject({ fault: null });
  // The pause of the first one is none of the second.
  await forwardOnce(context);
  expect([first.texts, second.texts]).toEqual([["one"], ["two"]]);
});

test("the operator's receiver gets the logs of all apps, also where it is private and without TLS", async () => {
  await using receiver = await new OtlpReceiver().listen();
  await using own = await new SyslogReceiver(certificate).listen();
  const forward = receiver.url;
  const one = await liveInstance("one");
  console.print(one, "before\n", Date.now() - 60_000);
  const settings = { forward, privateCidrs: ["127.0.0.1"] };
  await forwardOnce(control(settings));
  const other = await liveInstance("other");
  await setForward({ url: own.url }, "other");
  console.print(one, "first\n");
  console.print(other, "second\n");
  await forwardOnce(control(settings));
  expect([receiver.texts.toSorted(), own.texts]).toEqual([["first", "second"], ["second"]]);
  expect(await forwardOf("one")).toBeNull();
  // Without the setting it gets no more.
  console.print(one, "third\n");
  await forwardOnce(control());
  expect(receiver.texts).toHaveLength(2);
});

test("a host that is away holds up no other one, and its lines come when it is back", async () => {
  await using receiver = await new SyslogReceiver(certificate).listen();
  const id = await liveInstance();
  await setForward({ url: receiver.url });
  console.print(id, "one\n");
  console.isAway = true;
  await forwardOnce();
  console.isAway = false;
  expect([receiver.texts, (await forwardOf())?.fault]).toEqual([[], null]);
  await forwardOnce();
  expect(receiver.texts).toEqual(["one"]);
});

test.each([
  ["that tells times alone", false],
  ["that tells nothing", true],
])("lines of a host of a version before %s come once", async (_what, isUntimed) => {
  await using receiver = await new SyslogReceiver(certificate).listen();
  await forwarding.newApp();
  await setForward({ url: receiver.url });
  await forwarding.untilLive(await forwarding.deploy());
  const [{ machine_id: id } = { machine_id: "" }] = (await forwarding.getApp()).instances;
  console.isPlaced = false;
  const lines = ["a\n", "b\n", "c\n"].map((text) => ({ bytes: Buffer.from(text), atMs: Date.now() }));
  const print = (count: number): void => {
    if (isUntimed) console.print(id, lines[count - 1]?.bytes ?? "");
    else console.timed = lines.slice(0, count);
  };
  for (const count of [1, 2, 3]) {
    print(count);
    await forwardOnce();
  }
  console.timed = undefined;
  expect(receiver.texts).toEqual(["a", "b", "c"]);
});

test("values of secrets are replaced in what is sent", async () => {
  await using receiver = await new SyslogReceiver(certificate).listen();
  await world.call("PUT", "/v1/secrets/DB_PASSWORD", { body: { value: "hunter2-hunter2" } });
  await forwarding.newApp();
  await setForward({ url: receiver.url });
  const body = { template: "base", processes: { web: {} }, secrets: [{ name: "DB_PASSWORD" }] };
  await forwarding.untilLive(await forwarding.deploy(body));
  const [{ machine_id: id } = { machine_id: "" }] = (await forwarding.getApp()).instances;
  console.print(id, "with hunter2-hunter2\n");
  await forwardOnce();
  expect(receiver.texts).toEqual([`with ${"*".repeat(15)}`]);
});
