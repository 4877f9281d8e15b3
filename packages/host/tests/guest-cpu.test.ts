import { expect, test } from "vitest";
import { guestCpu, propertiesIn } from "../src/vm/qemu/guest-cpu.ts";

const answers = (props: object): string =>
  [
    '{"QMP": {"version": {}}}',
    '{"return": {}}',
    JSON.stringify({ return: { model: { name: "host", props } } }),
    '{"return": {}}',
  ].join("\r\n");

test("the CPU of a guest is what QEMU says of it, in whatever order", () => {
  const one = propertiesIn(answers({ avx2: true, sse: true, level: 13 }));
  expect(one).toEqual(["avx2=true", "level=13", "sse=true"]);
  expect(propertiesIn(answers({ level: 13, sse: true, avx2: true }))).toEqual(one);
  expect(propertiesIn(answers({ level: 13, sse: true, avx2: false }))).not.toEqual(one);
});

test("a QEMU that names no CPU is an error, and no empty CPU that would fit all others", () => {
  expect(() => propertiesIn('{"return": {}}')).toThrow("did not say which CPU");
  expect(() => propertiesIn(answers({}))).toThrow("did not say which CPU");
});

test("emulated guests see QEMU's own CPU on every machine", async () => {
  expect(await guestCpu("/none", "tcg")).toEqual({ model: "emulated", revision: "" });
});
