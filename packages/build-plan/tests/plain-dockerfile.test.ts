import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { planBuild } from "../src/plan/plan-build.ts";
import { plainDockerfile } from "../src/dockerfile/plain-dockerfile.ts";

const nothing = { env: {}, user: null, workdir: null };

function plain(text: string, args: Readonly<Record<string, string>> = {}) {
  return plainDockerfile(text, { file: "Dockerfile", args, template: { name: "base", config: nothing } });
}

/** Text of the instructions behind FROM that buildah is given, without documents. */
function linesOf(lines: string): string[] {
  return plain(`FROM base\n${lines}\n`).text.trimEnd().split("\n").slice(1);
}

function documentsOf(lines: string, from = "base"): Readonly<Record<string, string>> {
  const { instructions } = plain(`FROM ${from}\n${lines}\n`);
  return Object.fromEntries(
    instructions.flatMap(({ documents }) => documents.map(({ path, text }) => [path, text])),
  );
}

function refusal(text: string): string {
  try {
    plain(text);
  } catch (error) {
    if (error instanceof Error && "remediation" in error)
      return `${error.message} ${String(error.remediation)}`;
    throw error;
  }
  throw new Error("it was read");
}

/** The words of the one command that RUN has become. */
function wordsOf(lines: string): string[] {
  const [line = ""] = linesOf(lines).slice(-1);
  return JSON.parse(/\[.*$/s.exec(line)?.[0] ?? "") as string[];
}

test("what buildah reads stays byte for byte", () => {
  const text =
    '# syntax=docker/dockerfile:1\nARG A=1\nFROM base AS x\r\n\n# said\nRUN --mount=type=cache,target=/c \\\n  # between\n  make <x && echo $((1 << 2)) \'<<EOF\' "<<EOF" <<<word\nCOPY --chown=1:1 --chmod=755 a b /c/\nHEALTHCHECK --interval=1s CMD x\nCMD ["a", "<<b"]\n';
  expect(plain(text).text).toBe(text);
});

test.each<[string, string[]]>([
  ["RUN <<EOF\nset -eu\necho hi >/x\nEOF", ["/bin/sh", "-c", "set -eu\necho hi >/x\n"]],
  ["RUN <<-EOF\n\ta\n\t\tb\n\tEOF", ["/bin/sh", "-c", "a\nb\n"]],
  ["RUN <<'EOF'\necho \"$A\"\nEOF", ["/bin/sh", "-c", 'echo "$A"\n']],
  ['RUN <<"E O F"\na\nE O F', ["/bin/sh", "-c", "a\n"]],
  [
    "RUN <<EOF\n# kept, as all in it\n\nFROM none\\\nCOPY x\nEOF",
    ["/bin/sh", "-c", "# kept, as all in it\n\nFROM none\\\nCOPY x\n"],
  ],
  ["run \\\n  <<EOF\na\nEOF", ["/bin/sh", "-c", "a\n"]],
  [
    "RUN cat <<A >/a && cat <<-B >/b\n1\nA\n\t2\n\tB",
    ["/bin/sh", "-c", "cat <<A >/a && cat <<-B >/b\n1\nA\n\t2\nB"],
  ],
  ["RUN python3 <<EOF\nprint(1)\nEOF", ["/bin/sh", "-c", "python3 <<EOF\nprint(1)\nEOF"]],
  ["RUN cat 3<<EOF <&3\na\nEOF", ["/bin/sh", "-c", "cat 3<<EOF <&3\na\nEOF"]],
  ['SHELL ["/bin/bash", "-euc"]\nRUN <<EOF\na\nEOF', ["/bin/bash", "-euc", "a\n"]],
  ["RUN --network=default <<EOF\na\nEOF", ["/bin/sh", "-c", "a\n"]],
  ["RUN <<EOF\nEOF", ["/bin/sh", "-c", ""]],
])("a document is what a shell runs: %j", (lines, words) => {
  expect(wordsOf(lines)).toEqual(words);
});

test.each(["ONBUILD RUN <<EOF\na\nEOF", "onbuild run <<EOF\na\nEOF"])("also of %j", (lines) => {
  expect(linesOf(lines)).toEqual(['ONBUILD RUN ["/bin/sh","-c","a\\n"]']);
});

test("lines that end with CR and LF are no part of a document or a command", () => {
  const crlf =
    'FROM base\r\nRUN <<EOF\r\nset -eux\r\na\r\nEOF\r\nRUN a \\\r\n  b\r\nCOPY <<-"EOT" /app.conf\r\n\tkey="value"\r\n\tother=$HOME\r\nEOT\r\n';
  expect(plain(crlf).text).toBe(
    'FROM base\nRUN ["/bin/sh","-c","set -eux\\na\\n"]\nRUN a \\\n  b\nCOPY --from=skerry-documents 3/EOT /app.conf\n',
  );
  expect(plain(crlf).instructions[3]?.documents).toEqual([
    { path: "3/EOT", text: 'key="value"\nother=$HOME\n', isProgram: false },
  ]);
  // In a file of other ends they are what was written.
  expect(documentsOf("COPY <<EOF /x\na\r\nEOF")).toEqual({ "1/EOF": "a\r\n" });
});

test("a document that says what runs it is a program", () => {
  const { text, instructions } = plain(
    "FROM base\nRUN --mount=type=cache,target=/c <<EOF\n#!/usr/bin/env python3\nprint(1)\nEOF\n",
  );
  expect(text).toBe(
    'FROM base\nRUN --mount=type=cache,target=/c --mount=type=bind,from=skerry-documents,source=1,target=/.skerry-documents ["/.skerry-documents/EOF"]\n',
  );
  expect(instructions[1]?.documents).toEqual([
    { path: "1/EOF", text: "#!/usr/bin/env python3\nprint(1)\n", isProgram: true },
  ]);
});

test.each<[string, string[], Readonly<Record<string, string>>]>([
  ["COPY <<EOF /x\na\n\nb\nEOF", ["COPY --from=skerry-documents 1/EOF /x"], { "1/EOF": "a\n\nb\n" }],
  ["ADD <<EOF /x\na\nEOF", ["COPY --from=skerry-documents 1/EOF /x"], { "1/EOF": "a\n" }],
  [
    "COPY --chown=1:1 --link --chmod=600 <<robots.txt <<humans.txt /www/\nr\nrobots.txt\nh\nhumans.txt",
    ["COPY --chown=1:1 --chmod=600 --from=skerry-documents 1/robots.txt 1/humans.txt /www/"],
    { "1/robots.txt": "r\n", "1/humans.txt": "h\n" },
  ],
  [
    "COPY --chown=1 a.txt <<EOF /www/\nr\nEOF",
    ["COPY --chown=1 a.txt /www/", "COPY --chown=1 --from=skerry-documents 1/EOF /www/"],
    { "1/EOF": "r\n" },
  ],
  ["COPY <<EOF /x\nEOF", ["COPY --from=skerry-documents 1/EOF /x"], { "1/EOF": "" }],
  [
    "ONBUILD COPY <<'EOF' /x\n$A\nEOF",
    ["ONBUILD COPY --from=skerry-documents 1/EOF /x"],
    { "1/EOF": "$A\n" },
  ],
])("a document is a file that is copied: %j", (lines, made, documents) => {
  expect(linesOf(lines)).toEqual(made);
  expect(documentsOf(lines)).toEqual(documents);
});

test.each<[string, string]>([
  ['ARG A=1\nENV B=2 C="3 $A"\nCOPY <<EOF /x\n$A ${B} $C-${D:-4}${A:+5}$D\nEOF', "1 2 3 1-45\n"],
  ["ENV A=1\nCOPY <<'EOF' /x\n$A \\$A\nEOF", "$A \\$A\n"],
  ['ENV A=1\nCOPY <<"EOF" /x\n$A\nEOF', "$A\n"],
  ["ENV A=1\nCOPY <<E\\OF /x\n$A\nEOF", "$A\n"],
  ["ENV A=1\nCOPY <<EOF /x\n\"$A\" '$A' \\$A $(A) `A` $ $$\nEOF", "\"1\" '1' $A $(A) `A` $ \n"],
  ["ENV A=1\nENV A=2 B=$A\nCOPY <<EOF /x\n$A$B\nEOF", "21\n"],
  ["ENV A 1 2\nCOPY <<-EOF /x\n\t$A\n\tEOF", "1 2\n"],
  ["ARG TARGETARCH\nCOPY <<EOF /x\n$TARGETARCH $PATHS\nEOF", "amd64 \n"],
])("variables of a document have their values, unless its name is in quotes: %j", (lines, text) => {
  expect(Object.values(documentsOf(lines))).toEqual([text]);
});

test("arguments of the request and of before FROM, and variables of an earlier stage, are in a document", () => {
  const text =
    "ARG A=1\nARG B=1\nFROM base AS one\nARG B\nENV C=$B\nFROM one\nARG A\nCOPY <<EOF /x\n$A$B$C\nEOF\n";
  expect(plain(text, { B: "2" }).instructions.at(-1)?.documents[0]?.text).toBe("12\n");
});

test.each([
  ["COPY --link a.txt /a.txt", "COPY a.txt /a.txt"],
  ["COPY --link=true --chown=1 a /a", "COPY --chown=1 a /a"],
  ["ADD --link=false a /a", "ADD a /a"],
  ["ONBUILD COPY --link a /a", "ONBUILD COPY a /a"],
  ["ADD --keep-git-dir=false a /a", "ADD a /a"],
  ["COPY --parents=false a/b /c/", "COPY a/b /c/"],
  ["COPY --parents a/b.txt ./x/./y/z /c/", 'COPY ["a/b.txt","/c/a/b.txt"]\nCOPY ["./x/./y/z","/c/y/z"]'],
  ["COPY --from=x --parents /a/b /", 'COPY --from=x ["/a/b","/a/b"]'],
  ["RUN --security=sandbox --network=host a", "RUN a"],
  ["HEALTHCHECK --start-interval=1s --timeout=2s CMD a", "HEALTHCHECK --timeout=2s CMD a"],
  [
    "WORKDIR /w\nRUN --mount=type=bind,source=a.txt,target=a.txt cat a.txt",
    "WORKDIR /w\nRUN --mount=type=bind,source=a.txt,target=/w/a.txt cat a.txt",
  ],
  [
    "ENV D=/d\nWORKDIR $D\nWORKDIR e\nRUN --mount=target=../x,rw a",
    "ENV D=/d\nWORKDIR $D\nWORKDIR e\nRUN --mount=type=bind,target=/d/x,rw a",
  ],
  ["RUN --mount=type=bind,target=. ls", "RUN --mount=type=bind,target=/ ls"],
  [
    "RUN --mount=target=/x,type=cache,sharing=locked,id=a,mode=0755,uid=1 a",
    "RUN --mount=type=cache,target=/x,id=a,mode=0755,uid=1 a",
  ],
  ["RUN --mount=type=cache,dst=/x,readonly=true a", "RUN --mount=type=cache,target=/x,ro a"],
  [
    "RUN --mount=type=bind,destination=/x,src=y,readwrite=false a",
    "RUN --mount=type=bind,target=/x,source=y,ro a",
  ],
  ["RUN --mount=type=tmpfs,target=/x,size=1g a", "RUN --mount=type=tmpfs,target=/x,tmpfs-size=1g a"],
  ["RUN --mount=type=secret,id=a,required a", "RUN --mount=type=secret,id=a,required=true a"],
  [
    "RUN --mount=type=secret,target=/root/.npmrc a",
    "RUN --mount=type=secret,id=.npmrc,target=/root/.npmrc a",
  ],
  ["RUN --mount=type=secret,source=a,mode=0400,required=false a", "RUN --mount=type=secret,id=a,mode=0400 a"],
])("%j is what buildah does", (lines, made) => {
  expect(linesOf(lines).join("\n")).toBe(made);
});

test("a secret in a variable has what was given, byte for byte, and none where none was given", () => {
  const [shell, flag, text = ""] = wordsOf(
    'RUN --mount=type=secret,id=it,env=TOKEN printf %s "${TOKEN-none}"',
  );
  expect([shell, flag]).toEqual(["/bin/sh", "-c"]);
  const said = (path: string) =>
    execFileSync("/bin/sh", ["-c", text.replaceAll("/run/secrets/it", path)]).toString();
  expect(said("/proc/self/comm")).toBe("cat\n");
  expect(said("/nowhere")).toBe("none");
  const words = wordsOf(
    'RUN --mount=type=secret,id=it,target=/proc/self/comm,env=T ["/bin/sh", "-c", "printf %s \\"$T\\""]',
  );
  expect(execFileSync(words[0] ?? "", words.slice(1)).toString()).toBe("cat\n");
  expect(linesOf("RUN --mount=type=secret,id=it,env=T a")[0]).toContain("--mount=type=secret,id=it [");
});

test.each([
  ["COPY --exclude=*.md . /x", /line 2: COPY has `--exclude`, which builds do not have\. .*\.dockerignore/],
  ["COPY --parents */a /x", /line 2: COPY has `--parents` with a pattern/],
  ["COPY --chmod=u+x a /x", /line 2: COPY has `--chmod=u\+x`.* octal/],
  ["COPY --frum=a b /x", /line 2: COPY has `--frum`, which builds do not know/],
  [`ADD --checksum=sha256:${"0".repeat(64)} https://a/b /x`, /line 2: ADD has `--checksum`, .* sha256sum/],
  ["ADD --keep-git-dir https://a/b.git /x", /line 2: ADD has `--keep-git-dir`/],
  ["ADD --keep-git-dir=true https://a/b.git /x", /line 2: ADD has `--keep-git-dir`/],
  ["ADD --unpack=true a.tar /x", /line 2: ADD has `--unpack`/],
  ["ADD https://a/b.git#v1:c /x", /line 2: ADD has the repository https:\/\/a\/b\.git#v1:c, .*RUN/],
  ["ADD git@a:b/c.git /x", /line 2: ADD has the repository git@a/],
  ["RUN --network=none a", /line 2: RUN has `--network`, .* `egress`/],
  ["RUN --security=insecure a", /line 2: RUN has `--security`/],
  ["RUN --device=nvidia a", /line 2: RUN has `--device`/],
  ["RUN --mount=type=ssh a", /line 2: RUN has `--mount=type=ssh`, which needs an SSH agent.* secret/],
  ["RUN --mount=type=nfs,target=/x a", /line 2: RUN has .*is of the type nfs/],
  ["RUN --mount=type=cache,target=/x,size=1 a", /line 2: .* has the option `size`/],
  ["RUN --mount=type=cache,target=/x,sharing=all a", /line 2: .* has the sharing all/],
  ["RUN --mount=type=cache a", /line 2: .* has no target/],
  ["RUN --mount=type=bind,target=/x,ro=perhaps a", /line 2: .* has `ro=perhaps`/],
  ["RUN --mount=type=secret,env=A a", /line 2: .* names no secret/],
  ["RUN --mount=type=secret,id=a,env=A-B a", /line 2: .* no name of a variable/],
  [
    'RUN a\nSHELL ["pwsh", "-c"]\nRUN --mount=type=secret,id=a,env=A a',
    /line 4: RUN has a secret in a variable/,
  ],
  ["RUN <<EOF\na", /line 2: The document "EOF" has no end/],
  ["RUN cat <<EOF>x\na\nEOF", /line 2: The document "EOF>x" has no end/],
  ["COPY a <<EOF\na\nEOF", /line 2: COPY has a document as its target/],
  ["COPY <<a/b /x\na\na/b", /line 2: COPY has a document with the name "a\/b"/],
  ["RUN a\n\n# b\nCOPY <<EOF /x\n${A/b/c}\nEOF", /line 5: The document of COPY changes `A` by `\/`/],
  ["COPY <<EOF /x\n${A:?must be}\nEOF", /line 2: The document of COPY needs `A`: must be/],
  ["RUN a \\\n  b\nUN c", /line 4: UN is no instruction/],
  ["ONBUILD UN c", /line 2: ONBUILD is no instruction/],
  ["ONBUILD COPY --exclude=a b c", /line 2: ONBUILD has `--exclude`/],
])("what cannot be done is refused with its line, before anything is sent: %j", (lines, message) => {
  expect(refusal(`FROM base\n${lines}\n`)).toMatch(message);
});

test("what depends on an image that is not there yet is refused, and not guessed", () => {
  expect(refusal("FROM debian:12\nRUN --mount=type=bind,target=a ls a\n")).toMatch(
    /relative target.*WORKDIR/,
  );
  expect(refusal("FROM debian:12\nCOPY <<EOF /x\n$A\nEOF\n")).toMatch(
    /takes `A` from what the image.*ARG or ENV/,
  );
  expect(plain("FROM debian:12\nENV A=1\nCOPY <<EOF /x\n$A\nEOF\n").instructions[2]?.documents[0]?.text).toBe(
    "1\n",
  );
  expect(plain("FROM scratch\nCOPY <<EOF /x\n$A\nEOF\n").instructions[1]?.documents[0]?.text).toBe("\n");
});

test("variables in variables are refused beyond a depth, and take no more of the stack", () => {
  const nested = (depth: number) =>
    `FROM base\nCOPY <<EOF /x\n${"${A:-".repeat(depth)}1${"}".repeat(depth)}\nEOF\n`;
  const template = { name: "base", config: { env: {}, user: null, workdir: null } };
  const read = (depth: number) =>
    plainDockerfile(nested(depth), { file: "Dockerfile", args: {}, template }).instructions[1]?.documents[0];
  expect(read(100)?.text).toBe("1\n");
  for (const depth of [101, 13_000]) expect(() => read(depth)).toThrow(/nests variables more than 100 deep/);
});

test("another escape goes on with the next line, and is said again", () => {
  expect(plain("# escape=`\nFROM base\nCOPY --link a `\n  /b\\\nRUN c\n").text).toBe(
    "# escape=`\nFROM base\nCOPY a   /b\\\nRUN c\n",
  );
});

test("documents are in the step that reads them, and the groups of a Dockerfile with them are cached apart", () => {
  const text =
    "FROM base\nCOPY <<A /a\n1\nA\nRUN <<B\nb\nB\nCOPY --link src <<C /c/\n3\nC\nRUN <<D\n#!/bin/d\nD\n";
  const { steps } = planBuild({ from: "base", dockerfile: { text } });
  expect(steps.map(({ kind, inputs }) => [kind, inputs])).toEqual([
    ["dockerfile", []],
    ["dockerfile", ["src", ".containerignore", ".dockerignore"]],
    ["seal", []],
  ]);
  expect(steps[0]?.shown).toBe("COPY <<A /a\n1\nA\nRUN <<B\nb\nB\n");
  expect(steps[0]?.env).toMatchObject({
    ...{ STEP_DOCUMENTS: "1", STEP_DOCUMENT_0: "1\n", STEP_PLACE_0: "1/A", STEP_MODE_0: "644" },
    STEP_TEXT: 'FROM base\nCOPY --from=skerry-documents 1/A /a\nRUN ["/bin/sh","-c","b\\n"]\n',
  });
  expect(steps[1]?.env).toMatchObject({ STEP_DOCUMENTS: "2", STEP_MODE_0: "644", STEP_MODE_1: "755" });
});

test("a Dockerfile that is all documents or variables is read at once", () => {
  const often = (text: string, chars = 16_000) => text.repeat(chars / text.length);
  for (const text of [
    often("RUN <<A\nA\n"),
    often("COPY <<A /\n"),
    `ENV A=${often("x", 8_000)}\n${often("ENV A=$A$A\n", 8_000)}`,
    `COPY <<A /\n${often("${A:-")}\nA\n`,
    `RUN ${often('"', 15_999)} <<A\n`,
    `RUN ${often("--a=b ")}`,
  ])
    try {
      plain(`FROM base\n${text}`);
    } catch (error) {
      expect(error).toMatchObject({ code: "invalid_build" });
    }
});
