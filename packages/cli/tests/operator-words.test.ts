// What the operator's own commands say.

import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { showGrants, type Grants } from "../src/local/private-cidrs.ts";
import { Output } from "../src/output/output.ts";
import { Shell } from "./support/shell.ts";

async function said(grants: Grants): Promise<readonly string[]> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  await showGrants(new Output(stdout, stderr, { isColorWanted: false }), grants);
  stdout.end();
  stderr.end();
  return [await text(stdout), await text(stderr)];
}

test("granted networks are told in words, of one organization and of all", async () => {
  expect(await said({ allowed_private_cidrs: ["10.20.0.0/16", "192.168.7.10/32"] })).toEqual([
    "granted  10.20.0.0/16 192.168.7.10/32\n",
    "",
  ]);
  expect(await said({ allowed_private_cidrs: [] })).toEqual(["", "It is granted no private network.\n"]);
  expect(await said([])).toEqual(["", "No organization is granted a private network.\n"]);
  const [table] = await said([
    { organization_id: "org_1", name: "Example", allowed_private_cidrs: ["10.20.0.0/16"] },
  ]);
  expect(table).toBe("ORGANIZATION  NAME     GRANTED\norg_1         Example  10.20.0.0/16\n");
});

test("a backup to standard output is refused, with what to do", async () => {
  await using shell = await Shell.open();
  const { code, stdout, stderr } = await shell.run("backup", "-");
  expect([code, stdout.toString()]).toEqual([2, ""]);
  expect(stderr).toMatch(
    /^error: A backup is not written to standard output.*\(invalid_input\)\nName a file/,
  );
});
