// Before each file is loaded: the shared platform is up, and so are the images that every platform and host of the tests uses.

import { readFile } from "node:fs/promises";
import { inject } from "vitest";
import { until } from "./platform.ts";

/** Images are built from packages of the network. */
const STARTED_WITHIN_MS = 9 * 60_000;

const outcome = () => readFile(inject("platformOutcome"), "utf8").catch(() => "");
await until("the shared platform starts", async () => (await outcome()) !== "", STARTED_WITHIN_MS);
const said = await outcome();
if (said !== "up") throw new Error(said);
