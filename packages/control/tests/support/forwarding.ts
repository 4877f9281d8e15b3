// Apps in a world whose logs are forwarded, with turns of the service that does it.

import { afterAll, beforeAll, beforeEach } from "vitest";
import type { App } from "@skerry/contract/apps/app";
import type { Report } from "../../src/background/background-service.ts";
import type { Context, LogSettings } from "../../src/context.ts";
import { logForwarder } from "../../src/apps/forward/log-forwarder.ts";
import { useApps, WEB } from "./apps.ts";
import { Certificate, NameServer } from "./log-receivers.ts";
import type { Answer, World } from "./world.ts";

const never = new AbortController().signal;

export function useForwarding(world: World) {
  const apps = useApps(world);
  const certificate = new Certificate();
  const names = new NameServer();
  beforeAll(() => names.listen());
  beforeEach(() => {
    names.names.clear();
    names.names.set("logs.test", ["127.0.0.1"]);
    world.host.console.isPlaced = true;
  });
  afterAll(async () => {
    await names[Symbol.asyncDispose]();
    certificate[Symbol.dispose]();
  });

  /** Another control plane, which knows nothing of what one before did. */
  const control = (logs: Partial<LogSettings> = {}): Context =>
    world.contextWith({
      logs: {
        ...{ forward: undefined, caFile: certificate.file, privateCidrs: ["127.0.0.1/32"] },
        ...{ nameServers: [names.address], ...logs },
      },
    });
  const forwardOnce = (context = control(), stop = never): Promise<Report> =>
    logForwarder(context, 10_000).activate(stop);
  const setForward = (forward: object | null, name = "shop"): Promise<Answer<App>> =>
    world.call<App>("PATCH", `/v1/apps/${name}`, { body: { log_forward: forward } });
  const forwardOf = async (name = "shop") => (await apps.getApp(name)).log_forward;
  /** The first instance of a new app whose deploy is live. */
  const liveInstance = async (name = "shop"): Promise<string> => {
    await apps.newApp(name);
    await apps.untilLive(await apps.deploy(WEB, name));
    return (await apps.getApp(name)).instances[0]?.machine_id ?? "";
  };
  return { ...apps, certificate, names, control, forwardOnce, setForward, forwardOf, liveInstance };
}
