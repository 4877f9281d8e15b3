// What E2B's clients build, as builds of ours.

import { waitForPort } from "e2b-2.51";
import { planBuild } from "@skerry/build-plan/plan/plan-build";
import { describe, expect, test } from "vitest";
import { type TemplateFault, translateTemplate } from "../src/e2b/template-steps.ts";

const SHELL = '"$(command -v bash || command -v sh)"';

describe("what is built", () => {
  test("begins as the user in its home, and goes on as the instructions say", () => {
    const { request, hashes, instructions } = translateTemplate({
      fromImage: "e2bdev/base",
      steps: [
        { type: "ENV", args: ["A", "1", "B", "2"] },
        { type: "RUN", args: ["echo $A"] },
        { type: "RUN", args: ["apt-get update", "root"] },
        { type: "USER", args: ["root"] },
        { type: "RUN", args: ["id"] },
      ],
      startCmd: "serve",
      readyCmd: waitForPort(8080).getCmd(),
    });
    expect(request).toEqual({
      from: "base",
      steps: [
        { user: "user" },
        { workdir: "/home/user" },
        { env: { A: "1", B: "2" } },
        { run: `exec ${SHELL} -l -c 'echo $A'` },
        { user: "root" },
        { run: `cd '/root'; exec ${SHELL} -l -c 'apt-get update'` },
        { user: "user" },
        { user: "root" },
        { workdir: "/root" },
        { run: `exec ${SHELL} -l -c 'id'` },
      ],
      context: false,
      start: { command: `exec ${SHELL} -l -c 'serve'`, ready: { port: 8080 } },
    });
    expect([hashes, instructions]).toEqual([[], [0, 2, 3, 4, 5]]);
  });

  test("uses the cache unless the template or one of its steps says otherwise", () => {
    const step = { type: "RUN", args: ["true"] };
    expect(translateTemplate({ force: false, steps: [step] }).request.no_cache).toBeUndefined();
    expect(translateTemplate({ force: true, steps: [step] }).request.no_cache).toBe(true);
    expect(translateTemplate({ steps: [step, { ...step, force: true }] }).request.no_cache).toBe(true);
  });

  test("makes a user who is not there, and goes on from a template of one's own as that has ended", () => {
    const { request, start } = translateTemplate({ steps: [{ type: "USER", args: ["guest"] }] });
    expect(request.steps).toEqual([
      { user: "user" },
      { workdir: "/home/user" },
      { user: "root" },
      { run: expect.stringContaining("useradd -m -s") as string },
      { user: "user" },
      { user: "guest" },
      { workdir: "/home/guest" },
      { user: "root" },
    ]);
    expect(start).toEqual({ user: "guest", workdir: null });
    // A folder that the template has stays.
    const placed = translateTemplate({
      steps: [
        { type: "WORKDIR", args: ["/srv"] },
        { type: "USER", args: ["guest"] },
        { type: "RUN", args: ["id", "root"] },
      ],
    });
    expect(placed.start).toEqual({ user: "guest", workdir: "/srv" });
    const folders = placed.request.steps?.flatMap(({ workdir }) => workdir ?? []);
    expect(folders).toEqual(["/home/user", "/srv"]);
    const base = { env: {}, user: "guest", workdir: "/srv" };
    const onBase = translateTemplate({ fromTemplate: "own", base });
    expect([onBase.request.steps?.[0], onBase.start]).toEqual([
      { user: "guest" },
      { user: "guest", workdir: "/srv" },
    ]);
    expect(translateTemplate({ fromTemplate: "base" }).request.steps).toContainEqual({
      workdir: "/home/user",
    });
  });

  test("has variables in values and folders that are known, and no others", () => {
    const env = (...args: string[]) => ({ type: "ENV", args });
    const { request, start } = translateTemplate({
      steps: [
        env("PATH", "$HOME/bin:$PATH"),
        env("A", "${PATH}!", "COST", String.raw`5\$ or 5$`),
        { type: "WORKDIR", args: ["$HOME/app"] },
      ],
    });
    const path = "/home/user/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    expect(request.steps?.flatMap(({ env: set }) => (set === undefined ? [] : [set]))).toEqual([
      { PATH: path },
      { A: `${path}!`, COST: "5$ or 5$" },
    ]);
    expect(start.workdir).toBe("/home/user/app");
    for (const text of ["$NOTHING", "${NOTHING}", "${PATH:-x}"])
      expect(() => translateTemplate({ steps: [env("A", text)] })).toThrow("is not known here");
  });

  test("is refused at once where its variables would fill the memory, or a brace is never closed", () => {
    const env = (...args: string[]) => ({ type: "ENV", args });
    const doubled = Array.from({ length: 99 }, () => env("A", "$A$A"));
    expect(() => translateTemplate({ steps: [env("A", "x".repeat(1_000)), ...doubled] })).toThrow("too long");
    // Half a minute of one process, were each brace looked for anew.
    expect(() => translateTemplate({ steps: [env("A", "${".repeat(50_000))] })).toThrow("is not known here");
  });

  test("stands on an image of a registry, where the user of E2B is made first", () => {
    const steps = [{ type: "RUN", args: ["id"] }];
    const { request, instructions, start } = translateTemplate({ fromImage: "ubuntu:22.04", steps });
    expect(request).toEqual({
      image: "ubuntu:22.04",
      steps: [
        { user: "root" },
        { run: expect.stringContaining("adduser -D") as string },
        { user: "user" },
        { user: "user" },
        { workdir: "/home/user" },
        { run: `exec ${SHELL} -l -c 'id'` },
        { user: "root" },
      ],
      context: false,
    });
    // The pull, the user, its folder, and the instruction.
    expect([instructions, start]).toEqual([[0, 0, 0, 1], { user: "user", workdir: null }]);
    const { steps: planned } = planBuild({ ...request, name: "a" } as Parameters<typeof planBuild>[0]);
    expect(planned.map(({ kind }) => kind)).toEqual(["image", "run", "workdir", "run", "seal"]);
  });

  test("is refused where it is no instruction, or brings the login of a registry", () => {
    const instructionOf = (body: Parameters<typeof translateTemplate>[0]): number | undefined => {
      try {
        translateTemplate(body);
        return undefined;
      } catch (error) {
        return (error as TemplateFault).instruction;
      }
    };
    expect(instructionOf({ steps: [{ type: "RUN", args: ["true"] }, { type: "ADD" }] })).toBe(2);
    const login = { type: "registry", username: "u", password: "p" };
    expect(instructionOf({ fromImage: "r.test/a", fromImageRegistry: login })).toBe(0);
    expect(instructionOf({ steps: [{ type: "COPY", args: ["a", "b"] }] })).toBe(1);
  });
});
