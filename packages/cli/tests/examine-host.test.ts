import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clearLeft } from "../src/local/doctor/examine-host.ts";
import type { Layout } from "../src/local/system/layout.ts";

const LONG_AGO = new Date("2026-01-01");

/** In the place of the host: notes what it clears, and refuses the folder of a doctor that is at work. */
const HOST = `const { appendFileSync } = require("node:fs");
const folder = process.env.SKERRY_HOST_STATE;
appendFileSync(__dirname + "/cleared", process.argv[2] + " " + folder + "\\n");
process.exit(folder.endsWith("atwork") ? 1 : 0);`;

test("what an examination that was killed has left is cleared away, and one that is at work or getting ready is not", async () => {
  const state = await mkdtemp("/tmp/skerry-cli-doctor-");
  try {
    await writeFile(join(state, "host.js"), HOST);
    await writeFile(join(state, "cleared"), "");
    for (const name of ["doctor-killed", "doctor-atwork", "doctor-recent", "doctor-notes-of-mine", "host"]) {
      await mkdir(join(state, name, "vms"), { recursive: true });
      if (name !== "doctor-recent") await utimes(join(state, name), LONG_AGO, LONG_AGO);
    }
    await clearLeft({ state, dist: state } as Layout);
    expect((await readdir(state)).filter((name) => name.startsWith("doctor-")).toSorted()).toEqual([
      "doctor-atwork",
      "doctor-notes-of-mine",
      "doctor-recent",
    ]);
    const cleared = (await readFile(join(state, "cleared"), "utf8")).trim().split("\n").toSorted();
    expect(cleared).toEqual(["atwork", "killed"].map((name) => `clear ${join(state, `doctor-${name}`)}`));
  } finally {
    await rm(state, { recursive: true });
  }
});
