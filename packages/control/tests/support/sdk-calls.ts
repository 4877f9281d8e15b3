// Methods of the TypeScript client, read off its objects, and their results as JSON.

import type { Skerry } from "@skerry/sdk";

type Files = (...args: unknown[]) => object;

/** Its own methods. Those of the class below are those of what it inherits from. */
function methodNames(object: object): string[] {
  const names: string[] = [];
  for (
    let one: object | null = object;
    one !== null && one !== Object.prototype;
    one = Object.getPrototypeOf(one)
  )
    names.push(...Object.getOwnPropertyNames(one));
  const isMethod = (name: string) => typeof (object as Record<string, unknown>)[name] === "function";
  return [...new Set(names)].filter((name) => name !== "constructor" && isMethod(name));
}

/** The objects that its methods lie on, by their names, such as `sandboxes` and `sandboxes.files()`; its own
 *  by none. */
function groupsOf(skerry: Skerry): readonly (readonly [string, object])[] {
  const groups = Object.entries(skerry).filter(([, value]) => typeof value === "object" && value !== null);
  const { sandboxes, machines } = skerry;
  return [
    ["", skerry],
    ...(groups as [string, object][]),
    ["sandboxes.files()", sandboxes.files("sbx_0")],
    ["machines.files()", machines.files("mch_0")],
  ];
}

/** Every method, such as `sandboxes.create`. */
export function methodsOf(skerry: Skerry): readonly string[] {
  return groupsOf(skerry).flatMap(([group, object]) =>
    methodNames(object).map((name) => (group === "" ? name : `${group}.${name}`)),
  );
}

/** A client that makes no call, and tells of each method by its name. */
export function callsOf(skerry: Skerry, told: (name: string) => void): Skerry {
  return watched(skerry, "", told) as Skerry;
}

function watched(object: object, prefix: string, told: (name: string) => void): object {
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      const called = `${prefix}${String(name)}`;
      if (typeof value !== "function")
        return typeof value === "object" && value !== null ? watched(value, `${called}.`, told) : value;
      return (...args: unknown[]) => {
        if (name === "files") return watched((value as Files).apply(target, args), `${called}().`, told);
        told(called);
        return Promise.reject(new Error("It makes no call."));
      };
    },
  });
}

/** A result as JSON has it; what comes piece by piece is read to its end, and pieces of bytes are one text.
 *  */
export async function asJson(result: unknown): Promise<unknown> {
  if (result === undefined) return null;
  if (result instanceof Uint8Array) return Buffer.from(result).toString();
  if (!isIterable(result)) return JSON.parse(JSON.stringify(result, textOfBytes)) as unknown;
  const items: unknown[] = [];
  for await (const item of result) items.push(item);
  const areBytes = items.length > 0 && items.every((item) => item instanceof Uint8Array);
  return areBytes ? Buffer.concat(items as Uint8Array[]).toString() : asJson(items);
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function textOfBytes(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : value;
}
