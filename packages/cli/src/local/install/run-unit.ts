// What the systemd units start: the programs of `skerry up`, with its flags and settings, in the place of this process, so that systemd watches the
// server itself.

import { environment } from "../../config.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { Postgres } from "../servers/postgres.ts";
import { ensureRootKey } from "../servers/root-key.ts";
import { runHost } from "../servers/run-host.ts";
import { serviceOf } from "../servers/services.ts";
import { makeFolders } from "../servers/supervise.ts";
import type { ServiceName } from "../servers/supervisor-state.ts";
import { markUnits } from "../servers/units.ts";
import type { Layout } from "../system/layout.ts";
import { ensureSystemUser, findSystemUser, type SystemUser } from "../system/system-user.ts";

type Act = (layout: Layout) => Promise<void>;

/** No name is a noun of the API: `main.ts` would not look here. */
const acts: Readonly<Record<string, Act>> = {
  "prepare-folders": prepareFolders,
  "run-host": async (layout) => {
    await prepareFolders(layout);
    await becomeService("host", layout);
  },
  "run-control": (layout) => becomeService("control", layout),
  "prepare-postgres": async (layout) => {
    await prepareFolders(layout);
    const user = await ensureSystemUser(layout.state);
    await (await Postgres.open(layout, user)).prepare(user);
  },
  "run-postgres": async (layout) => {
    const { program, args } = (await openPostgres(layout)).serverCommand();
    const notify = environment()["NOTIFY_SOCKET"];
    const env = { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" };
    become(program, args, notify === undefined ? env : { ...env, NOTIFY_SOCKET: notify });
  },
  "make-database": async (layout) => (await openPostgres(layout)).ensureDatabase(),
  "clear-vms": async (layout) => runHost(layout, await hostUser(layout), "clear"),
};

export async function runUnit(layout: Layout, name: string): Promise<void> {
  const act = acts[name];
  if (act === undefined)
    throw new CliError("invalid_input", `No unit is called "${name}".`, { exitCode: exitCodes.usage });
  await act(layout);
}

async function prepareFolders(layout: Layout): Promise<void> {
  await makeFolders(layout);
  if (layout.joined === undefined) await ensureRootKey(layout, await ensureSystemUser(layout.state));
  await markUnits(layout);
}

async function becomeService(name: ServiceName, layout: Layout): Promise<void> {
  const { args, env } = serviceOf(name, layout, await hostUser(layout));
  become(process.execPath, args, env);
}

/** On a machine that has joined, nothing runs as it. */
function hostUser(layout: Layout): Promise<SystemUser | undefined> {
  return layout.joined === undefined ? findSystemUser() : Promise.resolve(undefined);
}

async function openPostgres(layout: Layout): Promise<Postgres> {
  const user = await findSystemUser();
  if (user === undefined) throw new Error("the system user is missing");
  return Postgres.open(layout, user);
}

function become(program: string, args: readonly string[], env: NodeJS.ProcessEnv): void {
  if (process.execve === undefined) throw new Error("this Node cannot replace its process");
  process.chdir("/");
  process.execve(program, [program, ...args], env);
}
