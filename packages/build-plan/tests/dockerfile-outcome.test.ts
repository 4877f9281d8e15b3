import { expect, test } from "vitest";
import { dockerfileOutcome, type DockerfileOutcome } from "@skerry/build-plan/dockerfile/dockerfile-outcome";

const NONE: DockerfileOutcome = { base: "base", env: {}, user: null, workdir: null, command: null };

const cases: readonly (readonly [text: string, outcome: Partial<DockerfileOutcome>])[] = [
  ["FROM base", {}],
  ["FROM base\nWORKDIR /app\nUSER app\nENV A=1 B=$A/x", { workdir: "/app", user: "app", env: { A: "1" } }],
  ["FROM base\nWORKDIR app", {}],
  ["FROM base\nWORKDIR /a\nWORKDIR b/../c", { workdir: "/a/c" }],
  ["FROM scratch\nWORKDIR app", { base: "scratch", workdir: "/app", env: { PATH: expect.any(String) } }],
  ["ARG TAG=22\nFROM node:$TAG\nENV P=$PATH:/x", { base: "node:22" }],
  [
    "FROM base AS one\nENV A=1\nUSER app\nWORKDIR /one\nFROM one\nWORKDIR two",
    { env: { A: "1" }, user: "app", workdir: "/one/two" },
  ],
  ["FROM one AS first\nUSER app\nWORKDIR /first\nFROM base\nENV B=2", { env: { B: "2" } }],
  ['FROM base\nCMD ["serve", "--name", "a b"]', { command: "serve --name 'a b'" }],
  ['FROM base\nCMD serve $PORT\nENTRYPOINT ["/init"]', { command: "/init serve $PORT" }],
  ['FROM base AS one\nCMD a\nFROM one\nENTRYPOINT ["/b"]', { command: "/b" }],
  ["FROM base AS one\nCMD a\nFROM one", { command: "a" }],
  ["FROM base AS one\nCMD a\nFROM base", {}],
  ["FROM --platform=linux/amd64 docker.io/library/node:22 AS last", { base: "docker.io/library/node:22" }],
];

test.each(cases)("%j comes to %j", (text, outcome) => {
  expect(dockerfileOutcome(text, { args: {}, target: "" })).toEqual({ ...NONE, ...outcome });
});

test("arguments and the stage that is asked for count", () => {
  const text = "ARG TAG=22\nFROM node:$TAG AS First\nWORKDIR /first\nFROM base\nWORKDIR /second";
  const of = (target: string, args = {}) => dockerfileOutcome(text, { args, target });
  expect(of("first", { TAG: "24" })).toMatchObject({ base: "node:24", workdir: "/first" });
  expect(of("0")).toMatchObject({ base: "node:22" });
  expect([of("1")?.workdir, of("")?.workdir, of("third")]).toEqual(["/second", "/second", undefined]);
});

test("a text without a stage comes to nothing", () => {
  expect(dockerfileOutcome("ARG A=1\nENV B=2", { args: {}, target: "" })).toBeUndefined();
});
