import { expect, test } from "vitest";
import { relativeTime } from "../src/output/relative-times.ts";
import { tableText, type TableLayout } from "../src/output/tables.ts";

const header = ["ID", "NAME", "SIZE"];
const first = "sbx_01kb3x0q9vt5c7r2m8n4p6w1yz";
const second = "sbx_01kb3x0q9vt5c8r2m8n4p6w1yz";

async function linesOf(
  rows: readonly (readonly string[])[],
  layout: Partial<TableLayout>,
): Promise<string[]> {
  const text = await tableText(rows, { columns: undefined, hasHeader: true, ...layout });
  return text.trimEnd().split("\n");
}

test("a program that reads a table gets every character, however long", async () => {
  const name = "x".repeat(300);
  expect(await linesOf([header, [first, name, "1"]], {})).toEqual([
    `ID${" ".repeat(30)}NAME${" ".repeat(298)}SIZE`,
    `${first}  ${name}  1`,
  ]);
});

test("on a narrow terminal ids become beginnings that are still different, and then the widest columns are cut", async () => {
  const rows = [
    header,
    [first, "a name of many words, which is long", "shared-cpu-1x"],
    [second, "b", "shared-cpu-1x"],
  ];
  const lines = await linesOf(rows, { columns: 60 });
  expect(lines).toEqual([
    "ID                  NAME                       SIZE",
    "sbx_01kb3x0q9vt5c7  a name of many words, wh…  shared-cpu-1x",
    "sbx_01kb3x0q9vt5c8  b                          shared-cpu-1x",
  ]);
  for (const columns of [20, 30, 40, 80, 200])
    for (const line of await linesOf(rows, { columns })) expect(line.length).toBeLessThanOrEqual(columns);
});

test("a table that fits keeps whole ids", async () => {
  expect((await linesOf([header, [first, "n", "1"]], { columns: 45 }))[1]).toBe(`${first}  n     1`);
});

test("Chinese characters and emoji take the room that they take on the screen", async () => {
  const rows = [header, ["1", "日本", "x"], ["2", "👩‍👩‍👧 ok", "x"], ["3", "abcdef", "x"]];
  expect(await linesOf(rows, { columns: 80 })).toEqual([
    "ID  NAME    SIZE",
    "1   日本    x",
    "2   👩‍👩‍👧 ok   x",
    "3   abcdef  x",
  ]);
  const cut = await linesOf(
    [
      ["A", "B"],
      ["日本語日本語日本語", "xxxxxxxxxxxx"],
    ],
    { columns: 20 },
  );
  expect(cut[1]).toBe("日本語日…  xxxxxxxx…");
});

test("what is to be read whole breaks between words, under its own column", async () => {
  const rows = [
    ["CHECK", "REMEDY"],
    ["memory", "give the machine more memory or run fewer guests"],
  ];
  expect(await linesOf(rows, { columns: 32, prose: [1] })).toEqual([
    "CHECK   REMEDY",
    "memory  give the machine more",
    "        memory or run fewer",
    "        guests",
  ]);
  // The names of fields are never cut.
  const field = ["restart_policy", "a sentence of several words that is long"];
  expect((await linesOf([field], { columns: 34, prose: [1], whole: [0], hasHeader: false }))[0]).toBe(
    "restart_policy  a sentence of",
  );
  // A word that is too long stays whole: it may be something to copy.
  const command = `/usr/${"x".repeat(60)}`;
  expect(await linesOf([["path", command]], { columns: 30, prose: [1], hasHeader: false })).toEqual([
    `path  ${command}`,
  ]);
});

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

test("on a narrow terminal times are told from now on, and never cut", async () => {
  const rows = [
    ["ID", "WHAT", "AT", "LAST"],
    [first, "a long description of it", ago(180), `${ago(7_200)} (expired)`],
  ];
  expect((await linesOf(rows, { columns: 200 }))[1]).toContain(rows[1]?.[2]);
  for (const columns of [55, 60, 70])
    expect((await linesOf(rows, { columns }))[1], `${columns}`).toMatch(
      / {2}3 h ago {2}5 d ago \(expired\)$/,
    );
});

test("columns that matter least go before anything that is to stay whole is cut", async () => {
  const rows = [
    ["ID", "STATUS", "TOKEN", "FROM"],
    [first, "denied (forbidden)", "tok_01kb3x0q9vt5c7r2m8n4p6w1yz", "192.0.2.1"],
  ];
  const narrow = { words: [1], minor: [3, 2] };
  expect((await linesOf(rows, { ...narrow, columns: 67 }))[0]).toMatch(/^ID .*STATUS .*TOKEN .*FROM$/);
  expect(await linesOf(rows, { ...narrow, columns: 54 })).toEqual([
    "ID                STATUS              TOKEN",
    "sbx_01kb3x0q9vt5  denied (forbidden)  tok_01kb3x0q9vt5",
  ]);
  expect(await linesOf(rows, { ...narrow, columns: 50 })).toEqual([
    "ID                STATUS          TOKEN",
    "sbx_01kb3x0q9vt5  denied          tok_01kb3x0q9vt5",
    "                  (forbidden)",
  ]);
  expect((await linesOf(rows, { ...narrow, columns: 30 }))[0]).toBe("ID                STATUS");
  const kept = [
    ["NAME", "STATUS"],
    ["a name of many words", "unreachable"],
  ];
  expect((await linesOf(kept, { whole: [1], columns: 20 }))[1]).toBe("a name…  unreachable");
});

test("a table without rows is its header", async () => {
  expect(await linesOf([header], { columns: 80 })).toEqual(["ID  NAME  SIZE"]);
});

test.each([
  [0, "now"],
  [400, "now"],
  [4_000, "in 4 s"],
  [-90_000, "90 s ago"],
  [4 * 60_000, "in 4 min"],
  [-2 * 3_600_000, "2 h ago"],
  [-47 * 3_600_000, "47 h ago"],
  [3 * 24 * 3_600_000, "in 3 d"],
])("a time %d ms away is %s", (awayMs, text) => {
  const now = Date.parse("2026-11-20T16:21:09.123Z");
  expect(relativeTime(new Date(now + awayMs).toISOString(), now)).toBe(text);
});

test("no time is a dash", () => {
  expect(relativeTime(null)).toBe("-");
});

test("a name stays legible before a column that matters less is shown", async () => {
  const rows = [
    ["ID", "NAME", "TEMPLATE", "SIZE", "STATUS", "CREATED", "EXPIRES"],
    [first, "nightly build of the website", "base", "shared-cpu-1x", "running", ago(2), ago(-3)],
  ];
  const narrow = { whole: [4, 5, 6], minor: [3, 2] };
  const [, line = ""] = await linesOf(rows, { ...narrow, columns: 80 });
  expect(line).toMatch(/nightly build of the websi/);
  expect(line).not.toContain("shared-cpu-1x");
  expect((await linesOf(rows, { ...narrow, columns: 100 }))[1]).toContain("shared-cpu-1x");
});

test("where columns that cannot be cut do not fit, spare ones go, and statuses and times stay whole", async () => {
  const rows = [
    ["ID", "NAME", "STATUS", "CREATED", "EXPIRES"],
    [first, "desk", "running", "12 min ago", "in 48 min"],
  ];
  const layout = { whole: [2, 3, 4], spare: [3, 4] };
  expect(await linesOf(rows, { ...layout, columns: 60 })).toEqual([
    "ID                NAME  STATUS   CREATED     EXPIRES",
    "sbx_01kb3x0q9vt5  desk  running  12 min ago  in 48 min",
  ]);
  expect(await linesOf(rows, { ...layout, columns: 50 })).toEqual([
    "ID                NAME  STATUS   EXPIRES",
    "sbx_01kb3x0q9vt5  desk  running  in 48 min",
  ]);
  expect(await linesOf(rows, { ...layout, columns: 40 })).toEqual([
    "ID                NAME  STATUS",
    "sbx_01kb3x0q9vt5  desk  running",
  ]);
});
