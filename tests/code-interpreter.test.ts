// E2B's published code interpreter against a sandbox of our template, whose image takes minutes to build: in full runs alone.

import { Sandbox, type Context } from "@e2b/code-interpreter";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { e2bOptions } from "./support/e2b-options.ts";
import { until } from "./support/platform.ts";
import { sharedPlatform } from "./support/shared.ts";

const BUILD_MS = 3_600_000;

describe("@e2b/code-interpreter", async () => {
  const platform = await sharedPlatform();
  const options = e2bOptions(platform, 600_000);
  let sandbox: Sandbox;
  const run: Sandbox["runCode"] = (code, more = {}) => sandbox.runCode(code, { timeoutMs: 600_000, ...more });

  beforeAll(async () => {
    // By the name that the client asks for, which builds the image and freezes it the first time.
    await until(
      "a sandbox was made",
      async () => {
        const made = await Sandbox.create({
          ...options,
          envs: { GREETING: "hello" },
          timeoutMs: 3_600_000,
        }).catch((error: unknown) => {
          expect(String(error)).toMatch(/is being built|template_not_ready|503|timed out|timeout/i);
        });
        if (made !== undefined) sandbox = made;
        return made !== undefined;
      },
      BUILD_MS,
    );
  }, BUILD_MS);
  afterAll(() => sandbox.kill());

  test("keeps variables between cells, and tells what they print, show and return in order", async () => {
    await run("x = 1");
    const shown: string[] = [];
    const execution = await run(
      "from IPython.display import display\nimport sys\nprint('one')\ndisplay('two')\nprint('three', file=sys.stderr)\nx += 1; x",
      {
        onStdout: ({ line }) => void shown.push(line),
        onStderr: ({ line }) => void shown.push(line),
        onResult: ({ text }) => void shown.push(String(text)),
      },
    );
    expect([execution.text, execution.logs]).toEqual(["2", { stdout: ["one\n"], stderr: ["three\n"] }]);
    expect([shown[0], shown.toSorted()]).toEqual(["one\n", ["2", "one\n", "three\n", "two"]]);
    expect(execution.executionCount).toBeGreaterThan(1);
  });

  test("runs as the sandbox's user, in its home, with its environment, and that of one execution over it", async () => {
    const code = "import os, getpass; f'{getpass.getuser()} {os.getcwd()} {os.environ[\"GREETING\"]}'";
    expect((await run(code)).text).toBe("user /home/user hello");
    expect((await run(code, { envs: { GREETING: "hi" } })).text).toBe("user /home/user hi");
    expect((await run(code)).text).toBe("user /home/user hello");
  });

  test("tells charts and tables by their values", async () => {
    const plot =
      "import matplotlib.pyplot as plt\nplt.bar(['A', 'B'], [1, 2]); plt.title('Sales'); plt.show()";
    const [bar] = (await run(plot)).results;
    expect(bar?.formats()).toEqual(expect.arrayContaining(["png"]));
    expect(bar?.chart).toMatchObject({
      type: "bar",
      title: "Sales",
      elements: [
        { label: "A", value: 1 },
        { label: "B", value: 2 },
      ],
    });
    const [table] = (await run("import pandas as pd\npd.DataFrame({'a': [1, 2]})")).results;
    expect([table?.data, table?.html?.includes("<table"), table?.isMainResult]).toEqual([
      { a: [1, 2] },
      true,
      true,
    ]);
  });

  test("tells errors, and that a kernel has ended, after which another one begins", async () => {
    const { error } = await run("1 / 0");
    expect([error?.name, error?.value]).toEqual(["ZeroDivisionError", "division by zero"]);
    expect(error?.traceback).toContain("ZeroDivisionError");
    const context = await sandbox.createCodeContext();
    const died = await run("import os; os.kill(os.getpid(), 9)", { context });
    expect(died.error?.name).toBe("KernelDied");
    expect((await run("1 + 1", { context })).text).toBe("2");
  });

  test("has contexts, each with variables and a folder of its own", async () => {
    const context: Context = await sandbox.createCodeContext({ cwd: "/tmp" });
    expect((await run("import os; print(os.getcwd(), 'x' in globals())", { context })).logs.stdout).toEqual([
      "/tmp False\n",
    ]);
    expect((await sandbox.listCodeContexts()).at(-1)).toEqual(context);
    await run("y = 1", { context });
    await sandbox.restartCodeContext(context);
    expect((await run("'y' in globals()", { context })).text).toBe("False");
    await sandbox.removeCodeContext(context);
    await expect(run("1", { context })).rejects.toThrow("not found");
    await expect(sandbox.createCodeContext({ language: "cobol" })).rejects.toThrow("400");
  });

  test("is interrupted when its client goes away", async () => {
    await expect(sandbox.runCode("import time; time.sleep(100_000)", { timeoutMs: 2_000 })).rejects.toThrow(
      "timed out",
    );
    expect((await run("'free'")).text).toBe("free");
  });

  test("gives each clone random numbers of its own", async () => {
    const other = await Sandbox.create({ ...options, timeoutMs: 600_000 });
    const code = "import random, numpy; [random.random(), numpy.random.rand()]";
    const texts = await Promise.all([run(code), other.runCode(code, { timeoutMs: 600_000 })]);
    expect(texts[0].text).not.toBe(texts[1].text);
    await other.kill();
  });
});
