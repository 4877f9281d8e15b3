// Instances whose program listens where no request comes in, with a fake host's list of what listens.

import { afterEach, expect, test } from "vitest";
import type { ListeningPort } from "@skerry/contract/host-api/ports";
import { useApps, WEB } from "./support/apps.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, pass, untilLive } = useApps(world);
const on = (...listening: readonly (readonly [address: string, port: number])[]): void => {
  world.host.ports.listening = listening.map(([address, port]): ListeningPort => ({
    ...{ address, port },
    process: "<b>evil</b>",
  }));
};

afterEach(() => on());

test.each([
  ["127.0.0.1", "127.0.0.1:8080"],
  ["::1", "[::1]:8080"],
  ["::ffff:127.0.0.1", "[::ffff:127.0.0.1]:8080"],
])(
  "a release that listens on %s alone passes its check, and fails its deploy with that address and what to do",
  async (address, told) => {
    await newApp();
    await untilLive(await deploy());
    const [before] = (await getApp()).instances;
    on([address, 8080], ["0.0.0.0", 22]);
    const one = await deploy();
    for (let turns = 0; turns < 4; turns += 1) {
      await turn();
      await pass();
    }
    expect(await getDeploy(one)).toMatchObject({
      status: "failed",
      reason: {
        code: "instance_failed",
        message: `web.2 listens on ${told} only, where no request from outside comes in. Have it listen on 0.0.0.0.`,
      },
    });
    await turn();
    expect(world.host.edge.served()).toEqual({ web: [before?.machine_id] });
    expect((await getApp()).instances).toHaveLength(1);
  },
);

test.each([
  [["0.0.0.0", 8080]],
  [["::", 8080]],
  [
    ["127.0.0.1", 8080],
    ["169.254.0.22", 8080],
  ],
  [["127.0.0.1", 9090]],
  [["127.0.0.1\u001b[2J", 8080]],
  [],
] as const)(
  "a release that may be reached, or of which nothing is known, is live: %j",
  async (...listening) => {
    await newApp();
    on(...(listening as readonly (readonly [string, number])[]));
    await untilLive(await deploy());
  },
);

test("a release whose check finds nothing on its port is told which ports it listens on, and none of the guest's words", async () => {
  await newApp();
  on(["0.0.0.0", 3000], ["<b>", 3000], ["127.0.0.1", 9229]);
  const one = await deploy();
  await turn();
  await turn();
  const [fresh] = (await getApp()).instances;
  world.host.checks.find(world.host, fresh?.machine_id ?? "", {
    status: "failing",
    reason: "nothing listens on the port",
  });
  await turn();
  const { status, reason } = await getDeploy(one);
  expect([status, reason?.message]).toEqual([
    "failed",
    "The check of web.1 fails: nothing listens on the port. It listens on 3000, 9229: `PORT` in its environment says where it should.",
  ]);
});

test("a host that cannot say what listens fails no deploy", async () => {
  await newApp();
  const one = await deploy({ ...WEB, processes: { web: { command: "serve" } } });
  world.host.ports.isAway = true;
  await untilLive(one);
  world.host.ports.isAway = false;
});
