// A guest's /etc/passwd. Pure.

import type { GuestUser } from "./known-users.ts";

const NUMBER = /^\d{1,9}$/;
/** As long as a path may be on Linux. */
const HOME_MAX_BYTES = 4_096;

/** Lines that are none are left out: a guest writes what it likes there. */
export function parsePasswd(text: string): ReadonlyMap<string, GuestUser> {
  const users = text.split("\n").flatMap((line): (readonly [string, GuestUser])[] => {
    const [name = "", , uid = "", gid = "", , home = ""] = line.split(":");
    const isUser = /^[^\s/\0]{1,100}$/.test(name) && NUMBER.test(uid) && NUMBER.test(gid) && isHome(home);
    return isUser ? [[name, { name, uid: Number(uid), gid: Number(gid), home }]] : [];
  });
  // The first line of a name counts, as for the C library.
  return new Map(users.toReversed());
}

function isHome(home: string): boolean {
  return home.startsWith("/") && Buffer.byteLength(home) <= HOME_MAX_BYTES;
}
