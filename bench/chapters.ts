// The chapters of the page, in the order in which they are measured.

import type { Bench } from "./bench.ts";
import { measureAppDeploys } from "./app-deploys.ts";
import { measureAppProxy } from "./app-proxy.ts";
import { measureApps } from "./apps.ts";
import { measureBulk } from "./bulk.ts";
import { measureBuilds } from "./builds.ts";
import { measureBurst } from "./burst.ts";
import { measureDashboard } from "./dashboard.ts";
import { measureE2b } from "./e2b.ts";
import { measureEgress, measureThroughput } from "./egress.ts";
import { measureEvents } from "./events.ts";
import { measureExecute } from "./execute.ts";
import { measureFleet } from "./fleet.ts";
import { measureForks } from "./forks.ts";
import { measureGrowth } from "./growth.ts";
import { measureHosts } from "./hosts.ts";
import { measureHttp } from "./http.ts";
import { measureInject } from "./inject.ts";
import { measureCold, measureLife } from "./life.ts";
import { measureMemory } from "./memory.ts";
import { measureMove } from "./move.ts";
import type { Measure } from "./results.ts";
import { measurePorts } from "./ports.ts";
import { measureSaved } from "./saved.ts";
import { measureSecrets } from "./secrets.ts";
import { measureStreams } from "./streams.ts";
import { measureSustained } from "./sustained.ts";

interface Chapter {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly measure: (bench: Bench) => Promise<Measure[]>;
}

export const chapters: readonly Chapter[] = [
  {
    name: "memory",
    title: "Memory of an idle server",
    about: "Of the two processes, some time after the start.",
    measure: measureMemory,
  },
  {
    name: "life",
    title: "A sandbox, with clones that wait",
    about:
      "One after the other; each round begins when the pool has made its clones and rests, and podman and the bare script get the same rest.",
    measure: measureLife,
  },
  {
    name: "cold",
    title: "A sandbox, when no clone waits",
    about: "On a platform with `SKERRY_WARM_MAX=0`, in turns with the bare script.",
    measure: measureCold,
  },
  {
    name: "secrets",
    title: "A sandbox with secrets in its environment",
    about: "With clones that wait, in turns with one without secrets.",
    measure: measureSecrets,
  },
  {
    name: "inject",
    title: "A secret that a request gets on its way",
    about:
      "Over kept connections on loopback, HTTP/1.1, through the name proxy as hosts run it, in turns with a name whose bytes are passed as they are.",
    measure: measureInject,
  },
  {
    name: "saved",
    title: "A sandbox that is paused",
    about:
      "Persistent sandboxes of 256 MiB that were told to change so much of their memory, one after the other, in turns with a bare script that restores the same files.",
    measure: measureSaved,
  },
  {
    name: "forks",
    title: "A sandbox that is forked",
    about:
      "A persistent sandbox of 256 MiB that was told to change 2 MiB of its memory, in turns with a bare script that restores the same files.",
    measure: measureForks,
  },
  {
    name: "builds",
    title: "A template that is built again",
    about:
      "On a platform with `SKERRY_WARM_MAX=0`, in microVMs of `shared-cpu-1x` without a network. The app is a Node server; its dependencies are 2,000 files of 8 kB that a step writes.",
    measure: measureBuilds,
  },
  {
    name: "execute",
    title: "A command",
    about:
      "The same command again and again in one sandbox, over a kept connection, in turns with one in a podman container.",
    measure: measureExecute,
  },
  {
    name: "burst",
    title: "Many creates at once",
    about: "All requests are sent in the same moment. A few find a clone that waits; most do not.",
    measure: measureBurst,
  },
  {
    name: "bulk",
    title: "Large files",
    about:
      "Each way, in turns with the raw channel: the same operation of the agent in a VM of the bare script, without HTTP.",
    measure: measureBulk,
  },
  {
    name: "streams",
    title: "What a command writes, as it comes",
    about:
      "Delays by the guest's own clock, which is compared with ours first; 100 MB in turns with the raw channel: the agent's plainest operation, without HTTP.",
    measure: measureStreams,
  },
  {
    name: "ports",
    title: "HTTP to a port of a guest",
    about:
      "One server in the guest, asked through the API, and in turns over the raw channel of a VM of the bare script, in which the same server runs.",
    measure: measurePorts,
  },
  {
    name: "e2b",
    title: "E2B's client beside ours",
    about:
      "The published client in turns with our own, on the same platform. Watchers are streams of one client, each on a folder of a tree of 10,000 files; the time until a change is heard of has that of its write in it.",
    measure: measureE2b,
  },
  {
    name: "growth",
    title: "Sandboxes in the database",
    about:
      "Half of the rows are destroyed sandboxes, half run on another host, which is offline. Each create begins when the pool and the database rest, and the first one after a change of the rows is not counted.",
    measure: measureGrowth,
  },
  {
    name: "events",
    title: "Changes, as they are told",
    about:
      "A reader follows `GET /v1/events` while a sandbox is changed at any moment. Creations with the trigger that orders changes and its index, in turns with creations without both.",
    measure: measureEvents,
  },
  {
    name: "dashboard",
    title: "The dashboard",
    about:
      "In Chromium without a screen, on this machine, which draws in software; pages with nothing in its cache. The sandboxes are rows on a host that is offline, and the changes are statements.",
    measure: measureDashboard,
  },
  {
    name: "fleet",
    title: "Many sandboxes that run",
    about: "PSS counts pages that VMs share in parts; it is read when all have idled for a while.",
    measure: measureFleet,
  },
  {
    name: "hosts",
    title: "A thousand hosts",
    about: "Simulated hosts with 100 machines each, and a PostgreSQL of their own.",
    measure: measureHosts,
  },
  {
    name: "apps",
    title: "A thousand apps",
    about: "On ten simulated hosts, each of which serves all of them, and a PostgreSQL of their own.",
    measure: measureApps,
  },
  {
    name: "app-deploys",
    title: "Deploys under load",
    about:
      "One after another, with clients of all kinds that ask all the time; then without them. A deploy is live when the instance before has finished its requests.",
    measure: measureAppDeploys,
  },
  {
    name: "app-proxy",
    title: "The proxy in front of apps",
    about:
      "Beside Debian's nginx, and Caddy where it is installed, in turns, with one nginx behind all of them. Needs nginx and wrk.",
    measure: measureAppProxy,
  },
  {
    name: "sustained",
    title: "Creates and destroys without a pause",
    about: "Two clients, each creates, executes `true` and destroys, and begins again at once.",
    measure: measureSustained,
  },
  {
    name: "requests",
    title: "Requests",
    about: "Asked by wrk over 50 kept connections; the request log is written.",
    measure: measureHttp,
  },
  {
    name: "egress",
    title: "The firewall",
    about: "Network slots and policies on this machine directly, without VMs.",
    measure: measureEgress,
  },
  {
    name: "throughput",
    title: "Network of a guest",
    about: "One TCP stream out of a guest for three seconds, with and without many CIDRs in turn.",
    measure: measureThroughput,
  },
  {
    name: "move",
    title: "A sandbox moves to another host",
    about:
      "Between two host processes on this machine and back, while it counts every 10 ms; by the guest's own clock.",
    measure: measureMove,
  },
];
