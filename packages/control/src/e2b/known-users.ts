// Users of sandboxes that were found a while ago. Guests say what is in them, so their sizes and their number are bounded.

import { BoundedMap } from "../values/bounded-map.ts";

export interface GuestUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

const SANDBOXES_MAX = 1_000;
/** The one that was found longest ago makes room, so no sandbox takes it from another. */
export const USERS_PER_SANDBOX_MAX = 20;
export const KNOWN_MS = 60_000;

interface Known {
  readonly user: GuestUser;
  readonly untilMs: number;
}

type UsersByName = BoundedMap<string, Known>;

/** Times are milliseconds of a clock that only goes forward. */
export class KnownUsers {
  readonly #sandboxes = new BoundedMap<string, UsersByName>(SANDBOXES_MAX);

  /** How many users of the sandbox are kept. */
  count(sandbox: string): number {
    return this.#sandboxes.get(sandbox)?.size ?? 0;
  }

  get(sandbox: string, name: string, nowMs: number): GuestUser | undefined {
    const known = this.#sandboxes.get(sandbox)?.get(name);
    return known !== undefined && known.untilMs > nowMs ? known.user : undefined;
  }

  /** `name`: by which it is asked for. */
  set(
    sandbox: string,
    name: string,
    { user, nowMs }: { readonly user: GuestUser; readonly nowMs: number },
  ): void {
    this.#evictExpired(nowMs);
    const users = this.#sandboxes.get(sandbox) ?? new BoundedMap<string, Known>(USERS_PER_SANDBOX_MAX);
    users.set(copied(name), { user: copiedUser(user), untilMs: nowMs + KNOWN_MS });
    this.#sandboxes.set(sandbox, users);
  }

  #evictExpired(nowMs: number): void {
    this.#sandboxes.deleteWhere((users) => {
      users.deleteWhere(({ untilMs }) => untilMs <= nowMs);
      return users.size === 0;
    });
  }
}

function copiedUser({ name, uid, gid, home }: GuestUser): GuestUser {
  return { name: copied(name), uid, gid, home: copied(home) };
}

/** A part of a text keeps the whole text in memory, until its characters are copied. */
function copied(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}
