import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorStatus } from "@skerry/contract/errors";
import { remedyOf } from "../src/errors/remedies.ts";
import { systemFailure } from "../src/errors/system-words.ts";

const packages = join(import.meta.dirname, "../..");
const A_CALL = /\b(GET|POST|PUT|PATCH|DELETE) \/v1/;

/** Every string of the server's sources that names a call of the API in backquotes, as remedies do. */
function remediesOfServer(): string[] {
  return ["contract", "build-plan", "control", "host"].flatMap((name) => {
    const root = join(packages, name, "src");
    return readdirSync(root, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .flatMap((file) => readFileSync(join(root, file), "utf8").split("\n"))
      .filter((line) => A_CALL.test(line) && !/^\s*(\/\/|\*|\/\*\*)/.test(line))
      .map((line) => line.replaceAll("\\`", "`"));
  });
}

test("no remedy that the command line prints is a call of the API", () => {
  const remedies = remediesOfServer();
  expect(remedies.length).toBeGreaterThan(8);
  for (const remedy of remedies)
    for (const code of Object.keys(errorStatus)) expect(remedyOf(code, remedy) ?? "").not.toMatch(A_CALL);
  // Every call that a remedy names has a command; a placeholder of the source code stands for several.
  const named = remedies.filter((line) => !/description:|\$\{|POST \/v1\/auth\/sessions/.test(line));
  const unnamed = named.filter((remedy) => remedyOf("forbidden", remedy)?.includes("see its /docs"));
  expect(unnamed).toEqual([]);
});

test.each([
  [
    "template_not_found",
    "`GET /v1/templates` lists the templates.",
    "`skerry template list` lists the templates.",
  ],
  ["host_not_found", "`GET /v1/hosts` lists the hosts.", "`skerry host list` lists the hosts."],
  [
    "forbidden",
    "Use another token; `GET /v1/auth/me` shows what yours has.",
    "Use another token; `skerry auth whoami` shows what yours has.",
  ],
  [
    "rate_limited",
    "Wait 3 s. `GET /v1/limits` shows the limits.",
    "Wait 3 s. `skerry org limits` shows the limits.",
  ],
  ["forbidden", "Leave out `scopes` to pass on its own.", "Leave out --scope to pass on its own."],
  ["x", "Look at `POST /v1/of/tomorrow` for that.", "Look at the API (see its /docs) for that."],
])("%s: %j becomes %j", (code, remedy, expected) => {
  expect(remedyOf(code, remedy)).toBe(expected);
});

test("an error without a remedy gets none, and one with words of its own gets these", () => {
  expect(remedyOf("internal", undefined)).toBeUndefined();
  expect(remedyOf("toString", undefined)).toBeUndefined();
  expect(remedyOf("organization_not_found", "`GET /v1/orgs` lists yours.")).toContain("`skerry org list`");
});

test("a failure of the file system is a sentence with the file, and not that of a file beside it", () => {
  const error = (code: string, path: string) =>
    Object.assign(new Error(`${code}: x`), { code, path, syscall: "open" });
  expect(systemFailure(error("ENOENT", "/no/such/.x.054082ba9e5c.part"))).toMatchObject({
    code: "no_such_file",
    message: "There is no file or directory /no/such on this machine.",
  });
  expect(systemFailure(error("ENOSPC", "/x"))?.message).toBe("The disk of /x is full.");
  expect(systemFailure(error("EWEIRD", "/x"))).toEqual({ code: "EWEIRD", message: "EWEIRD: x" });
  expect(systemFailure(new Error("x"))).toBeUndefined();
});
