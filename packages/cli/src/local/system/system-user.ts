// The unprivileged user of control and PostgreSQL.

import { mustRun, run } from "./run.ts";
import { SYSTEM_USER } from "./layout.ts";

export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/** The user, made now unless it is there. */
export async function ensureSystemUser(home: string): Promise<SystemUser> {
  const known = await findSystemUser();
  if (known !== undefined) return known;
  const shell = ["--shell", "/usr/sbin/nologin", "--no-create-home", "--home-dir", home];
  await mustRun("useradd", ["--system", "--user-group", ...shell, SYSTEM_USER]);
  const made = await findSystemUser();
  if (made === undefined) throw new Error(`the user ${SYSTEM_USER} could not be made`);
  return made;
}

export async function findSystemUser(): Promise<SystemUser | undefined> {
  const { code, stdout } = await run("getent", ["passwd", SYSTEM_USER]);
  if (code !== 0) return undefined;
  const [, , uid, gid] = stdout.trim().split(":");
  return { uid: Number(uid), gid: Number(gid) };
}
