import { expect, test } from "vitest";
import { basesOf } from "../src/dockerfile/dockerfile-instructions.ts";

test.each<[text: string, bases: string[]]>([
  ["FROM base\nRUN x", ["base"]],
  ["# FROM not\nfrom --platform=linux/amd64 \\\n  web:42 AS app\n", ["web:42"]],
  ["FROM node AS build\nFROM build AS test\nFROM base\nCOPY --from=build a b", ["base", "node"]],
  ["FROM base AS one\nFROM base\nFROM scratch\nFROM ONE", ["base"]],
  ['ARG NAME="web"\nARG TAG\nFROM ${NAME}:1\nFROM x:$TAG\nFROM $NAME', ["web", "web:1"]],
  ["RUN echo FROM base", []],
  ["# escape=`\nFROM base", []],
  ["FROM", [""]],
])("%j begins on these", (text, bases) => {
  expect(basesOf(text)).toEqual(bases);
});

test("an argument of the request is taken before the one of the Dockerfile", () => {
  expect(basesOf("ARG ON=web\nFROM $ON", { ON: "base" })).toEqual(["base"]);
  expect(basesOf("ARG ON\nFROM $ON", { ON: "base", FROM: "x" })).toEqual(["base"]);
  expect(basesOf("ARG A=x B=web\nFROM $B")).toEqual(["web"]);
  expect(basesOf("ARG constructor\nFROM $constructor")).toEqual([]);
});

test("arguments do not make a small text a large one", () => {
  const often = "$A".repeat(10);
  expect(basesOf(`ARG A=${"x".repeat(500)}\nFROM ${often}\nFROM base`)).toEqual(["base"]);
  expect(basesOf(`ARG A\nFROM ${often}\nFROM base`, { A: "x".repeat(500) })).toEqual(["base"]);
  const longest = `a/${"x".repeat(900)}`;
  expect(basesOf(`ARG A=${longest}\nFROM $A`)).toEqual([longest]);
});
