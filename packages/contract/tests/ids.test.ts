import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  idKinds,
  idOfDigest,
  idPattern,
  isId,
  kindOf,
  newId,
  newIdAfter,
  type IdKind,
} from "@skerry/contract/ids";

const kinds = Object.keys(idKinds) as IdKind[];
/** 48 bits of milliseconds reach the year 10889. */
const TIME_MAX_MS = 2 ** 48 - 1;

test("an id shows its kind and matches the published pattern of that kind only", () => {
  for (const kind of kinds) {
    const id = newId(kind);
    expect(kinds.filter((other) => new RegExp(idPattern(other)).test(id))).toEqual([kind]);
  }
});

test("ids made later sort later, over the whole range of their time", () => {
  fc.assert(
    fc.property(fc.nat(TIME_MAX_MS), fc.nat(TIME_MAX_MS), (one, other) => {
      fc.pre(one !== other);
      const [earlier, later] = [Math.min(one, other), Math.max(one, other)];
      expect(newId("sandbox", earlier) < newId("sandbox", later)).toBe(true);
    }),
  );
});

test("a thousand ids of the same millisecond are all different", () => {
  expect(new Set(Array.from({ length: 1_000 }, () => newId("request", 1_000))).size).toBe(1_000);
});

test("the same content always has the same id, and one changed bit gives another", () => {
  const content = fc.uint8Array({ minLength: 16, maxLength: 64 });
  fc.assert(
    fc.property(content, fc.nat(127), (digest, bit) => {
      const changed = Uint8Array.from(digest);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const id = idOfDigest("template", digest);
      expect(id).toMatch(new RegExp(idPattern("template")));
      expect(idOfDigest("template", digest)).toBe(id);
      expect(idOfDigest("template", changed)).not.toBe(id);
    }),
  );
});

test("the kind of an id is known by its prefix, and its whole shape is asked of by name", () => {
  const id = newId("machine");
  expect([kindOf(id), kindOf("abc_1"), kindOf("")]).toEqual(["machine", undefined, undefined]);
  expect([isId("machine", id), isId("sandbox", id), isId("machine", `${id}x`)]).toEqual([true, false, false]);
});

test("an id that is made after another one sorts after it, whatever the clocks say", () => {
  fc.assert(
    fc.property(fc.nat(TIME_MAX_MS - 1), fc.nat(TIME_MAX_MS), (then, now) => {
      const before = newId("execution", then);
      const after = newIdAfter("execution", before, now);
      expect(after > before).toBe(true);
      expect(isId("execution", after)).toBe(true);
    }),
  );
});
