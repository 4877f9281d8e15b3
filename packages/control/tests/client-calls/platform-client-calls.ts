import { expect } from "vitest";
import { leftOut, ofNoClient, type ClientCall } from "./client-call.ts";

export const platformClientCalls = {
  getHealth: {
    cli: leftOut("`skerry status` asks a server for more"),
  },
  getStatus: {
    cli: "status --json",
    gives: {
      cli: expect.objectContaining({
        server: expect.stringMatching(/^http:/),
        machines: expect.any(Number),
        hosts: expect.objectContaining({ online: expect.any(Number) }),
      }),
    },
  },
  getUsage: { cli: "usage --json" },
  listSizes: { cli: "size list --json" },
  followEvents: {
    sdk: (skerry) => skerry.eventPage(),
    python: "skerry.event_page()",
    cli: "events",
    gives: { cli: "" },
  },
  listBackgroundServices: {
    cli: "background-service list --json",
  },
  getBackgroundService: {
    cli: leftOut("`background-service list` has all that there is of each"),
  },
  runBackgroundService: {
    cli: "background-service run {name} --json",
  },
  getMetrics: ofNoClient("a monitoring system scrapes it"),
  getAppFileSchema: ofNoClient("editors read it"),
  getDocs: ofNoClient("a page for browsers"),
  getOpenapi: ofNoClient("generators of clients read it"),
} satisfies Readonly<Record<string, ClientCall>>;
