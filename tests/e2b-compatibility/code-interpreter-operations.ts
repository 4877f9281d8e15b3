// Operations of E2B's code interpreter.

import { join } from "node:path";
import type { Sandbox } from "@e2b/code-interpreter";
import { holds, same } from "./operation.ts";
import type { NotTried, Operation } from "./operation.ts";

export interface InterpreterContext {
  readonly sandbox: Sandbox;
}

type InterpreterOperation = Operation<InterpreterContext>;

export const interpreterDeclarations = join(
  import.meta.dirname,
  "../../node_modules/@e2b/code-interpreter/dist/index.d.ts",
);

export const notTriedOfInterpreter: NotTried = {};

const LIMITS = { timeoutMs: 600_000, requestTimeoutMs: 600_000 };
const PLOT = "import matplotlib; import matplotlib.pyplot as plt\n";

/** Each chart that the client has a type for, and how it is drawn. */
const charts = {
  line: "plt.plot([1, 2, 3], [4, 5, 6], label='a'); plt.title('T'); plt.xlabel('x'); plt.show()",
  scatter: "plt.scatter([1, 2], [3, 4], label='a'); plt.title('T'); plt.show()",
  bar: "plt.bar(['A', 'B'], [1, 2]); plt.title('T'); plt.show()",
  pie: "plt.pie([1, 3], labels=['A', 'B']); plt.title('T'); plt.show()",
  box_and_whisker: "plt.boxplot([[1, 2, 3, 4, 50]], labels=['A']); plt.title('T'); plt.show()",
  superchart: "f, (a, b) = plt.subplots(1, 2); a.plot([1, 2]); b.bar(['A'], [1]); plt.show()",
} as const;

export const interpreterOperations: readonly InterpreterOperation[] = [
  {
    ...{ area: "Python", name: "`runCode`: the value, output of both kinds, variables that stay" },
    covers: ["Sandbox.runCode"],
    async attempt({ sandbox }) {
      await sandbox.runCode("kept = 41", LIMITS);
      const { text, logs, error } = await sandbox.runCode(
        "import sys\nprint('one')\nprint('two', file=sys.stderr)\nkept + 1",
        LIMITS,
      );
      same([text, logs, error], ["42", { stdout: ["one\n"], stderr: ["two\n"] }, undefined]);
    },
  },
  {
    ...{ area: "Python", name: "output, results and errors as they come" },
    covers: ["OutputMessage.toString"],
    async attempt({ sandbox }) {
      const told: string[] = [];
      await sandbox.runCode("import sys\nprint('one')\nprint('two', file=sys.stderr)\ndisplay(3)\n1 / 0", {
        ...LIMITS,
        onStdout: (output) => void told.push(`out ${output.line}`),
        onStderr: (output) => void told.push(`err ${output.line}`),
        onResult: ({ text }) => void told.push(`result ${text}`),
        onError: ({ name }) => void told.push(`error ${name}`),
      });
      same(told.toSorted(), ["err two\n", "error ZeroDivisionError", "out one\n", "result 3"]);
    },
  },
  {
    ...{ area: "Python", name: "errors: name, value, traceback" },
    covers: [],
    async attempt({ sandbox }) {
      const { error } = await sandbox.runCode("1 / 0", LIMITS);
      same([error?.name, error?.value], ["ZeroDivisionError", "division by zero"]);
      holds(error?.traceback.includes("ZeroDivisionError") === true, "the traceback names it");
    },
  },
  {
    ...{ area: "Python", name: "an environment of one execution" },
    covers: [],
    async attempt({ sandbox }) {
      const code = "import os; os.environ.get('ONLY')";
      same((await sandbox.runCode(code, { ...LIMITS, envs: { ONLY: "here" } })).text, "here");
      same((await sandbox.runCode(`${code} is None`, LIMITS)).text, "True");
    },
  },
  {
    ...{ area: "Python", name: "a time limit, which interrupts" },
    covers: [],
    async attempt({ sandbox }) {
      const code = "import time; time.sleep(100_000)";
      const error = await sandbox
        .runCode(code, { timeoutMs: 2_000, requestTimeoutMs: 600_000 })
        .catch((thrown: unknown) => thrown);
      holds(error instanceof Error && /timed out/.test(error.message), "it timed out");
      same((await sandbox.runCode("1", LIMITS)).text, "1");
    },
  },
  {
    ...{ area: "Python", name: "output of programs that it starts (`os.system`)" },
    covers: [],
    async attempt({ sandbox }) {
      const { logs } = await sandbox.runCode("import os; os.system('echo from a shell')", LIMITS);
      same(logs.stdout.join(""), "from a shell\n");
    },
  },
  {
    ...{ area: "Results", name: "a DataFrame: HTML and its data" },
    covers: ["Result.formats", "Result.toJSON", "Execution.toJSON"],
    async attempt({ sandbox }) {
      const execution = await sandbox.runCode("import pandas as pd\npd.DataFrame({'a': [1, 2]})", LIMITS);
      const [table] = execution.results;
      same([table?.data, table?.formats().toSorted()], [{ a: [1, 2] }, ["data", "html"]]);
      holds(JSON.stringify(execution).includes("<table"), "its JSON has the table");
    },
  },
  {
    ...{ area: "Results", name: "HTML, Markdown, SVG, LaTeX, JSON, JavaScript" },
    covers: [],
    async attempt({ sandbox }) {
      const kinds = [
        "HTML('a')",
        "Markdown('b')",
        "SVG('<svg/>')",
        "Latex('d')",
        "JSON({'e': 1})",
        "Javascript('f')",
      ];
      const { results } = await sandbox.runCode(
        `from IPython.display import *\n${kinds.map((kind) => `display(${kind})`).join("\n")}`,
        LIMITS,
      );
      const found = results.flatMap((result) => result.formats()).filter((format) => format !== "text");
      same(found, ["html", "markdown", "svg", "latex", "json", "javascript"]);
    },
  },
  ...Object.entries(charts).map(([type, code]): InterpreterOperation => ({
    ...{ area: "Results", name: `a chart of the type \`${type}\`, with its picture`, covers: [] },
    async attempt({ sandbox }) {
      const [result] = (await sandbox.runCode(`${PLOT}${code}`, LIMITS)).results;
      same([result?.chart?.type, result?.png !== undefined], [type, true]);
      holds((result?.chart?.elements.length ?? 0) > 0, "the chart has elements");
    },
  })),
  {
    ...{ area: "Contexts", name: "create, list, restart, remove" },
    covers: [
      ...["Sandbox.createCodeContext", "Sandbox.listCodeContexts", "Sandbox.restartCodeContext"],
      "Sandbox.removeCodeContext",
    ],
    async attempt({ sandbox }) {
      const context = await sandbox.createCodeContext({ cwd: "/tmp", requestTimeoutMs: 600_000 });
      same([context.language, context.cwd], ["python", "/tmp"]);
      await sandbox.runCode("kept = 1", { ...LIMITS, context });
      same((await sandbox.runCode("import os; os.getcwd()", { ...LIMITS, context })).text, "/tmp");
      const ids = async () => (await sandbox.listCodeContexts()).map(({ id }) => id);
      holds((await ids()).includes(context.id), "it is listed");
      await sandbox.restartCodeContext(context);
      same((await sandbox.runCode("'kept' in globals()", { ...LIMITS, context })).text, "False");
      await sandbox.removeCodeContext(context.id);
      holds(!(await ids()).includes(context.id), "it is listed no longer");
    },
  },
  ...["python", "javascript", "typescript", "r", "java", "bash"].map((language): InterpreterOperation => ({
    ...{ area: "Languages", name: `\`${language}\``, covers: [] },
    async attempt({ sandbox }) {
      const { error } = await sandbox.runCode(language === "bash" ? "true" : "1", { ...LIMITS, language });
      same(error, undefined);
      // The sandbox has no room for the kernels of all languages.
      const contexts = await sandbox.listCodeContexts();
      for (const context of contexts)
        if (context.language === language && language !== "python") await sandbox.removeCodeContext(context);
    },
  })),
  {
    ...{ area: "Sandbox", name: "files and commands of the SDK beside" },
    covers: [],
    async attempt({ sandbox }) {
      await sandbox.files.write("beside.txt", "beside");
      same((await sandbox.runCode("open('beside.txt').read()", LIMITS)).text, "beside");
      same((await sandbox.commands.run("cat beside.txt")).stdout, "beside");
    },
  },
  {
    ...{ area: "Sandbox", name: "pause and connect: variables are those of before" },
    covers: [],
    async attempt({ sandbox }) {
      await sandbox.runCode("paused = 'kept'", LIMITS);
      await sandbox.pause();
      await sandbox.connect();
      same((await sandbox.runCode("paused", LIMITS)).text, "kept");
    },
  },
  {
    ...{ area: "Sandbox", name: "pause without memory and connect: it runs code again" },
    covers: [],
    async attempt({ sandbox }) {
      await sandbox.pause({ keepMemory: false });
      await sandbox.connect();
      same((await sandbox.runCode("1 + 1", LIMITS)).text, "2");
    },
  },
];
