// What is sealed opens for what it was sealed for and nothing else, whatever someone who may write the database does with the rows.

import fc from "fast-check";
import { expect, test } from "vitest";
import { formatRootKeys, newRootKey, parseRootKeys } from "@skerry/contract/sealing/root-key-file";
import {
  newDataKey,
  openValue,
  sealValue,
  unwrapDataKey,
  wrapDataKey,
  type SealedFor,
} from "../src/sealing/sealed-value.ts";

const abouts: fc.Arbitrary<SealedFor> = fc.record({
  owner: fc.string({ maxLength: 5 }),
  scope: fc.string({ maxLength: 5 }),
  name: fc.string({ maxLength: 5 }),
  version: fc.nat(3),
});
const values = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const key = newDataKey();

test("a value opens as it was, and never looks the same twice", () => {
  fc.assert(
    fc.property(abouts, values, (about, value) => {
      const [one, other] = [sealValue(key, about, value), sealValue(key, about, value)];
      expect(one.equals(other)).toBe(false);
      expect(openValue(key, about, one)).toEqual(value);
    }),
  );
});

test("a value does not open for anything else, so rows cannot be swapped", () => {
  fc.assert(
    fc.property(abouts, abouts, values, (about, other, value) => {
      fc.pre(JSON.stringify(about) !== JSON.stringify(other));
      expect(() => openValue(key, other, sealValue(key, about, value))).toThrow();
    }),
  );
});

test("a value with a byte changed, cut off or added does not open, nor under another key", () => {
  const change = fc.record({ at: fc.nat(), bit: fc.nat(7), cut: fc.nat(), more: fc.boolean() });
  fc.assert(
    fc.property(abouts, values, change, (about, value, { at, bit, cut, more }) => {
      const sealed = sealValue(key, about, value);
      const changed = Buffer.from(sealed);
      const index = at % sealed.length;
      changed.writeUInt8(changed.readUInt8(index) ^ (1 << bit), index);
      expect(() => openValue(key, about, changed)).toThrow();
      expect(() => openValue(key, about, sealed.subarray(0, cut % sealed.length))).toThrow();
      if (more) expect(() => openValue(key, about, Buffer.concat([sealed, Buffer.of(0)]))).toThrow();
      expect(() => openValue(newDataKey(), about, sealed)).toThrow();
    }),
  );
});

test("a data key opens by its own root key, for its own owner, and whole", () => {
  const [root, other] = [newRootKey(), newRootKey()];
  const wrapped = wrapDataKey(root, "org_a", key);
  expect(unwrapDataKey(root, "org_a", wrapped)).toEqual(key);
  expect(() => unwrapDataKey(other, "org_a", wrapped)).toThrow();
  expect(() => unwrapDataKey(root, "org_b", wrapped)).toThrow();
  fc.assert(
    fc.property(fc.nat(wrapped.length - 1), fc.nat(7), (at, bit) => {
      const changed = Buffer.from(wrapped);
      changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at);
      expect(() => unwrapDataKey(root, "org_a", changed)).toThrow();
      expect(() => unwrapDataKey(root, "org_a", wrapped.subarray(0, at))).toThrow();
    }),
  );
});

test("a file of root keys is read as it was written, and a broken one is refused without telling what is in it", () => {
  const keys = [newRootKey(), newRootKey()];
  const text = formatRootKeys(keys);
  expect(parseRootKeys(text)).toEqual(keys);
  expect(keys.map(({ id }) => id)).toEqual(keys.map(() => expect.stringMatching(/^[0-9a-f]{16}$/) as string));
  const half = text.slice(0, -10);
  expect(() => parseRootKeys(half)).toThrow("a line is not the base64 of 32 bytes");
  expect(() => parseRootKeys("# nothing\n")).toThrow("it has no key");
  expect(() => parseRootKeys(`${text}secret words\n`)).toThrow(/^a line is not/);
});
