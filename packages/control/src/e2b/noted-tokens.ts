import type { Credentials } from "../auth/credentials.ts";
// Access tokens that were given away, as many as a process may remember: of each organization some, and of all together.

export interface Access {
  readonly sandboxId: string;
  readonly credentials: Credentials & { readonly orgId: string };
}

interface Bounds {
  readonly perOrganization: number;
  readonly inAll: number;
}

/** Oldest first. */
type Tokens = Map<string, Access>;

export class NotedTokens {
  readonly #bounds: Bounds;
  readonly #byOrganization = new Map<string, Tokens>();
  readonly #bySandbox = new Map<string, Tokens>();
  #count = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  has(token: string, { sandboxId }: Pick<Access, "sandboxId">): boolean {
    return this.#bySandbox.get(sandboxId)?.has(token) === true;
  }

  /** Where there are too many, the oldest of the same organization makes room, or of the one that has most. */
  note(token: string, access: Access): void {
    const { orgId } = access.credentials;
    if (this.#byOrganization.get(orgId)?.has(token) === true) this.#forget(token, access);
    add(this.#byOrganization, orgId, token, access);
    add(this.#bySandbox, access.sandboxId, token, access);
    this.#count++;
    const own = this.#byOrganization.get(orgId);
    if (own !== undefined && own.size > this.#bounds.perOrganization) this.#forgetOldest(own);
    else if (this.#count > this.#bounds.inAll) this.#forgetOldest(this.#largest());
  }

  /** Of one sandbox, or of all where none is named. */
  *of(sandboxId: string | undefined): Generator<readonly [token: string, access: Access]> {
    if (sandboxId !== undefined) return yield* this.#bySandbox.get(sandboxId) ?? [];
    for (const tokens of this.#byOrganization.values()) yield* tokens;
  }

  #largest(): Tokens {
    let largest: Tokens = new Map();
    for (const tokens of this.#byOrganization.values()) if (tokens.size > largest.size) largest = tokens;
    return largest;
  }

  #forgetOldest(tokens: Tokens): void {
    const [oldest] = tokens;
    if (oldest !== undefined) this.#forget(...oldest);
  }

  #forget(token: string, { sandboxId, credentials: { orgId } }: Access): void {
    remove(this.#byOrganization, orgId, token);
    remove(this.#bySandbox, sandboxId, token);
    this.#count--;
  }
}

function add(groups: Map<string, Tokens>, key: string, token: string, access: Access): void {
  const tokens = groups.get(key) ?? new Map<string, Access>();
  groups.set(key, tokens.set(token, access));
}

function remove(groups: Map<string, Tokens>, key: string, token: string): void {
  const tokens = groups.get(key);
  tokens?.delete(token);
  if (tokens?.size === 0) groups.delete(key);
}
