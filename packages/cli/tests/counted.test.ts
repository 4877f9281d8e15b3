import { expect, test } from "vitest";
import { amountText } from "../src/commands/copy/local-places.ts";

test("one thing is told in the singular, and none and several in the plural", () => {
  expect(amountText({ files: 1, bytes: 1 }, "/root")).toBe("1 file into /root, 1 byte");
  expect(amountText({ files: 0, bytes: 0 })).toBe("0 files, 0 bytes");
  expect(amountText({ files: 2, bytes: 17 })).toBe("2 files, 17 bytes");
  expect(amountText({ files: 1, bytes: 3 * 1024 ** 2 })).toBe("1 file, 3.0 MiB");
});
