// Which images are pulled with credentials before a Dockerfile's own commands run, and that the credentials are gone then. The script runs here as it does
// in the builder, with a program in the place of buildah that says what it is asked for.

import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PULL_BASES } from "../src/scripts/image-scripts.ts";
import { REGISTRY_AUTH_FILE } from "../src/scripts/registry-files.ts";

const BUILDAH = `#!/bin/sh
[ -f "$REGISTRY_AUTH_FILE" ] || exit 1
echo "$3" >>"$PULLED"
`;

const STUBS = `
begin_phase() { :; }
end_phase() { :; }
end() { exit "$1"; }
refuse() { exit 3; }
refuse_pull() { exit 4; }
`;

function pulled(text: string, args: Readonly<Record<string, string>> = {}): string[] {
  const folder = mkdtempSync(join(tmpdir(), "skerry-pull-"));
  try {
    const file = (name: string): string => join(folder, name);
    mkdirSync(file("registries"));
    writeFileSync(file("buildah"), BUILDAH);
    chmodSync(file("buildah"), 0o755);
    writeFileSync(file("auth.json"), "{}");
    const script = PULL_BASES.replaceAll(REGISTRY_AUTH_FILE, file("auth.json"));
    const shown = `${STUBS}${script}\necho "pull=$pull \${REGISTRY_AUTH_FILE-none}"; sort "$PULLED"`;
    const said = execFileSync("/bin/bash", ["--norc", "--noprofile", "-uc", shown], {
      encoding: "utf8",
      env: {
        PATH: `${folder}:${process.env["PATH"]}`,
        ...{ context: folder, registries: file("registries"), said: file("said"), PULLED: file("pulled") },
        ...{
          STEP_FILE: "Dockerfile",
          STEP_TEXT: text,
          STEP_FROM: "base",
          REGISTRY_AUTH_FILE: file("auth.json"),
        },
        STEP_ARGS: String(Object.keys(args).length),
        ...Object.fromEntries(
          Object.entries(args).map(([name, value], at) => [`STEP_ARG_${at}`, `${name}=${value}`]),
        ),
      },
    });
    expect(existsSync(file("auth.json"))).toBe(false);
    const [state, ...images] = said.trim().split("\n");
    expect(state).toBe("pull=false none");
    return images.map((image) => image.replace("docker://", ""));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test.each([
  ["FROM own.example/app:1", ["own.example/app:1"]],
  [
    "from --platform=linux/amd64 own.example/app AS build\nFROM build\nCOPY --from=build /a /b",
    ["own.example/app"],
  ],
  ["FROM base\nCOPY --chown=1:1 --from=own.example/tools --chmod=755 /a /b", ["own.example/tools"]],
  [
    "FROM base\nCOPY --link \\\n  # said between lines\n  --from=own.example/tools \\\n  /a /b",
    ["own.example/tools"],
  ],
  [
    "FROM base\nRUN --mount=type=bind,from=own.example/data,target=/d --network=none ls /d",
    ["own.example/data"],
  ],
  ["FROM base\nRUN --mount=from=own.example/data,target=/d ls", ["own.example/data"]],
  ["FROM base\nRUN echo --from=own.example/no && ls *\nENV A=--from=own.example/no", []],
  ["FROM scratch\nCOPY --from=0 /a /b\nCOPY a --from=own.example/no", []],
])("%j names these images", (text, images) => {
  expect(pulled(`FROM own.example/first\n${text}\n`)).toEqual(["own.example/first", ...images].toSorted());
});

test("arguments are filled in, those of the request before those of the Dockerfile", () => {
  const text = 'ARG NAME="app"\nARG TAG=1\nFROM own.example/${NAME}:$TAG\r\n';
  expect(pulled(text)).toEqual(["own.example/app:1"]);
  expect(pulled(text, { TAG: "2" })).toEqual(["own.example/app:2"]);
});
