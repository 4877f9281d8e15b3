// The two servers as the supervisor starts them: program, flags and settings.

import { join } from "node:path";
import { environment } from "../../config.ts";
import { settingsOf } from "../system/known-settings.ts";
import { databaseUrl, type Layout } from "../system/layout.ts";
import type { ServiceName } from "./supervisor-state.ts";
import type { SystemUser } from "../system/system-user.ts";

/** Buffers that have passed through are freed when V8's nursery is swept. The first bounds the nursery in MiB, the second has it swept for every
 *  4 MiB of buffers, before they are a reason to go through the whole heap: docs/decisions/5. */
const SMALL_NURSERY = ["--max-semi-space-size=2", "--scavenger-max-new-space-capacity-mb=1"] as const;
/** The host waits for QEMU and the kernel most of its time, so it takes less memory rather than faster code. */
const FLAGS: { readonly [Name in ServiceName]: readonly string[] } = {
  control: SMALL_NURSERY,
  host: [...SMALL_NURSERY, "--optimize-for-size"],
};

export interface Service {
  readonly name: ServiceName;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Which of them run on this machine. */
export function serviceNames({ joined }: Layout): readonly ServiceName[] {
  return joined === undefined ? ["control", "host"] : ["host"];
}

export function serviceOf(name: ServiceName, layout: Layout, user: SystemUser | undefined): Service {
  const common = {
    PATH: environment()["PATH"],
    NODE_ENV: "production",
    SKERRY_LOG_LEVEL: environment()["SKERRY_LOG_LEVEL"],
  };
  const settings = name === "host" ? hostEnvironment(layout, user) : controlEnvironment(layout, user);
  const defined = Object.entries({ ...common, ...settings }).filter(([, value]) => value !== undefined);
  return {
    name,
    args: [...FLAGS[name], join(layout.dist, `${name}.js`), "serve"],
    env: Object.fromEntries(defined),
  };
}

export function controlEnvironment(layout: Layout, user: SystemUser | undefined): NodeJS.ProcessEnv {
  if (user === undefined) throw new Error("control does not run as root");
  return {
    ...passed(settingsOf("control")),
    SKERRY_DATABASE_URL: databaseUrl(layout),
    SKERRY_CLIENTS: join(layout.dist, "clients"),
    SKERRY_DASHBOARD_FILES: join(layout.dist, "dashboard"),
    SKERRY_ROOT_KEY_FILE: layout.rootKeyFile,
    SKERRY_LISTEN: layout.listen,
    SKERRY_HOST_SOCKET: layout.hostSocket,
    SKERRY_RUN_AS_UID: String(user.uid),
    SKERRY_RUN_AS_GID: String(user.gid),
  };
}

/** `user`: whose control uses the host's socket; undefined where that is only root's. */
export function hostEnvironment(layout: Layout, user: SystemUser | undefined): NodeJS.ProcessEnv {
  return {
    ...passed([...settingsOf("host"), "SKERRY_VM_CGROUP"]),
    ...joinedEnvironment(layout),
    SKERRY_HOST_STATE: layout.hostState,
    SKERRY_HOST_SOCKET: layout.hostSocket,
    ...(user === undefined ? {} : { SKERRY_HOST_SOCKET_GID: String(user.gid) }),
    SKERRY_NATIVE: join(layout.dist, "native"),
    SKERRY_TEMPLATES: layout.templates,
  };
}

function joinedEnvironment({ joined }: Layout): NodeJS.ProcessEnv {
  if (joined === undefined) return {};
  return {
    SKERRY_HOST_NAME: joined.name,
    SKERRY_HOST_LISTEN: joined.listen,
    SKERRY_HOST_ADDRESS: joined.address,
  };
}

function passed(names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(
    names.map((name) => [name, environment()[name]]).filter(([, value]) => value !== undefined),
  );
}
