import { expect, test } from "vitest";
import { dockerfileGroups as groupsOf } from "../src/dockerfile/dockerfile-groups.ts";
import { plainDockerfile } from "../src/dockerfile/plain-dockerfile.ts";
import { planBuild } from "../src/plan/plan-build.ts";

const APP = `# What the app is.
ARG VERSION=1
FROM node AS app
ENV NODE_ENV=production \\
    # A comment between the lines of one instruction.
    PORT=8080
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
user node
COPY --chown=node:node . .
RUN --mount=type=secret,id=token \\
    npm run build
CMD ["node", "server.js"]
`;

const dockerfileGroups = (text: string) =>
  groupsOf(plainDockerfile(text, { file: "Dockerfile", args: {}, template: undefined }))?.map((group) => ({
    ...{ text: group.text, shown: group.shown, inputs: group.inputs },
  }));

/** What decides which files of a folder are copied. */
const IGNORE = [".containerignore", ".dockerignore"];

const inputsOf = (lines: string) =>
  dockerfileGroups(`FROM base\nRUN first\n${lines}\n`)?.map(({ inputs }) => inputs);

test("a group ends before what copies behind a command, and later ones begin on what it has left", () => {
  expect(dockerfileGroups(APP)).toEqual([
    {
      text: `ARG VERSION=1\nFROM node AS app\nENV NODE_ENV=production \\\n    PORT=8080\nWORKDIR /app\nCOPY package.json package-lock.json ./\nRUN npm ci\nuser node\n`,
      shown: `ENV NODE_ENV=production \\\n    PORT=8080\nWORKDIR /app\nCOPY package.json package-lock.json ./\nRUN npm ci\nuser node\n`,
      inputs: ["package.json", "package-lock.json", ...IGNORE],
    },
    {
      text: `ARG VERSION=1\nFROM skerry-before AS app\nCOPY --chown=node:node . .\nRUN --mount=type=secret,id=token \\\n    npm run build\nCMD ["node", "server.js"]\n`,
      shown: `COPY --chown=node:node . .\nRUN --mount=type=secret,id=token \\\n    npm run build\nCMD ["node", "server.js"]\n`,
      inputs: ["."],
    },
  ]);
});

test("what names its files simply depends on these, and all else on the whole context", () => {
  expect(inputsOf("COPY src/ /lib/x ./a//b /app/")).toEqual([[], ["src", "lib/x", "a/b", ...IGNORE]]);
  expect(inputsOf("ADD / /app")).toEqual([[], ["."]]);
  for (const each of ["COPY *.js /app/", "COPY $SOURCE /app", 'COPY ["a", "b"]', "COPY ../up /app"])
    expect(inputsOf(each)).toEqual([[], ["."]]);
  expect(inputsOf("COPY a /a\nRUN --mount=target=/src make\nCOPY b /b")).toEqual([
    [],
    ["a", "."],
    ["b", ...IGNORE],
  ]);
  expect(inputsOf("COPY a /a\nRUN --mount=type=cache,target=/c make")).toEqual([[], ["a", ...IGNORE]]);
});

test("what holds for later commands, and is not on the disk, is said again", () => {
  const settings = 'ARG A=1\nSHELL ["/bin/sh", "-ec"]\nENV B=$A\nLABEL c=d\n';
  const [, second] = dockerfileGroups(`FROM debian:$TAG\n${settings}RUN x\nCOPY z .\nCMD z\n`) ?? [];
  expect(second?.text).toBe(`FROM skerry-before\n${settings.replace("ENV B=$A\n", "")}COPY z .\nCMD z\n`);
});

test.each([
  ["several stages", "FROM base\nRUN a\nFROM base\nCOPY b .\n"],
  ["files of another image", "FROM base\nRUN a\nCOPY --from=busybox /bin/sh /sh\n"],
  ["files of another image in a command", "FROM base\nRUN --mount=from=busybox,target=/x a\nCOPY b .\n"],
  ["an address", "FROM base\nRUN a\nADD https://example.com/x /x\n"],
  ["another escape", "# escape=`\nFROM base\nRUN a\nCOPY b .\n"],
  ["a volume", "FROM base\nVOLUME /data\nRUN a\nCOPY b .\n"],
  ["a platform", "FROM --platform=linux/amd64 base\nRUN a\nCOPY b .\n"],
  ["one group", "FROM base\nCOPY a .\nRUN b\n"],
  ["nothing", ""],
])("a Dockerfile with %s stays whole", (_what, text) => {
  expect(dockerfileGroups(text)).toBeUndefined();
});

test("each group is a step, and the last one takes the secrets away", () => {
  const request = { from: "node", dockerfile: { text: APP, args: { VERSION: "2" } } };
  const { on, steps } = planBuild(request, { env: { A: "b" }, user: "node", workdir: "/srv" });
  expect(on).toEqual({ template: "node" });
  expect(steps.map(({ kind, inputs }) => [kind, inputs])).toEqual([
    ["dockerfile", ["package.json", "package-lock.json", ...IGNORE]],
    ["dockerfile", ["."]],
    ["seal", []],
  ]);
  const [first, last] = steps;
  expect([first?.env["STEP_IS_LAST"], last?.env["STEP_IS_LAST"]]).toEqual(["", "1"]);
  const args = { STEP_ARGS: "1", STEP_ARG_0: "VERSION=2" };
  const begin = { STEP_USER: "node", STEP_WORKDIR: "/srv", STEP_ENVS: "1", STEP_ENV_0: "A=b" };
  expect(first?.env).toMatchObject({ ...args, ...begin, STEP_FROM: "node" });
  const left = { STEP_USER: "", STEP_WORKDIR: "/", STEP_ENVS: "0" };
  expect(last?.env).toMatchObject({ ...args, ...left, STEP_FROM: "skerry-before" });
});

test("a Dockerfile of very many groups has twenty", () => {
  const groups = dockerfileGroups(`FROM base\n${"COPY a .\nRUN b\n".repeat(500)}`) ?? [];
  expect(groups).toHaveLength(20);
  expect(groups.at(-1)?.shown).toBe("COPY a .\nRUN b\n".repeat(481));
});

test("without its text it is one step", () => {
  const kinds = (request: Parameters<typeof planBuild>[0]) =>
    planBuild(request).steps.map(({ kind, inputs }) => [kind, inputs]);
  const whole = [
    ["dockerfile", ["."]],
    ["seal", []],
  ];
  expect(kinds({ dockerfile: { text: "FROM base\nRUN a\n" } })).toEqual(whole);
  expect(kinds({ from: "node", dockerfile: {} })).toEqual(whole);
});
