// The calls into a microVM, of one that is in hand: with its id filled in.

import { VmCalls } from "./vm-calls.ts";

/** All that `VmCalls` has with the id first. `files` is a getter of the one in hand. */
export type BoundCalls = {
  [Name in keyof VmCalls as Exclude<Name, "files">]: VmCalls[Name] extends (
    id: string,
    ...rest: infer Rest
  ) => infer Answer
    ? (...rest: Rest) => Answer
    : never;
};

type Call = (this: VmCalls, ...args: unknown[]) => unknown;

const own: ReadonlySet<PropertyKey> = new Set(["constructor", "at", "files"]);

class Bound {
  static {
    for (const name of Object.getOwnPropertyNames(VmCalls.prototype)) {
      if (own.has(name)) continue;
      // Under its own name, which traces of errors show.
      const methods = {
        [name](this: Bound, ...args: unknown[]): unknown {
          return (Reflect.get(this.#calls, name) as Call).call(this.#calls, this.id, ...args);
        },
      };
      Object.defineProperty(this.prototype, name, {
        value: methods[name],
        writable: true,
        configurable: true,
      });
    }
  }

  readonly id: string;
  readonly #calls: VmCalls;

  constructor(calls: VmCalls, id: string) {
    this.#calls = calls;
    this.id = id;
  }
}

/** Its methods are those of `VmCalls`, so that each is written once. */
export const BoundVm = Bound as unknown as new (calls: VmCalls, id: string) => Bound & BoundCalls;
