import { expect } from "vitest";
import { leftOut, ofNoClient, type ClientCall } from "./client-call.ts";

export const platformClientCalls = {
  getHealth: {
    sdk: (skerry) => skerry.health(),
    python: "skerry.health()",
    cli: leftOut("`skerry status` asks a server for more"),
  },
  getStatus: {
    sdk: (skerry) => skerry.status(),
    python: "skerry.status()",
    cli: "status --json",
    gives: {
      cli: expect.objectContaining({
        server: expect.stringMatching(/^http:/),
        machines: expect.any(Number),
        hosts: expect.objectContaining({ online: expect.any(Number) }),
      }),
    },
  },
  getUsage: { sdk: (skerry) => skerry.usage(), python: "skerry.usage()", cli: "usage --json" },
  listSizes: { sdk: ({ sizes }) => sizes.list(), python: "skerry.sizes.list()", cli: "size list --json" },
  followEvents: {
    sdk: (skerry) => skerry.eventPage(),
    python: "skerry.event_page()",
    cli: "events",
    gives: { cli: "" },
  },
  listBackgroundServices: {
    sdk: ({ backgroundServices }) => backgroundServices.list(),
    python: "skerry.background_services.list()",
    cli: "background-service list --json",
  },
  getBackgroundService: {
    sdk: ({ backgroundServices }, { name }) => backgroundServices.get(name),
    python: "skerry.background_services.get({name})",
    cli: leftOut("`background-service list` has all that there is of each"),
  },
  runBackgroundService: {
    sdk: ({ backgroundServices }, { name }) => backgroundServices.run(name),
    python: "skerry.background_services.run({name})",
    cli: "background-service run {name} --json",
  },
  getMetrics: ofNoClient("a monitoring system scrapes it"),
  getDocs: ofNoClient("a page for browsers"),
  getOpenapi: ofNoClient("generators of clients read it"),
} satisfies Readonly<Record<string, ClientCall>>;
