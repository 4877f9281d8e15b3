// The one platform that most end-to-end tests use.

import { inject } from "vitest";
import { openPlatform, type Platform } from "./platform.ts";

/** The platform that the global setup has started, for a test file that only uses it. */
export async function sharedPlatform(): Promise<Omit<Platform, "stop">> {
  return openPlatform(inject("platformState"), {});
}
