// What a run of tests has reported, and what a later run of those files that failed adds to it.

export interface TestReport {
  readonly testResults: readonly TestFile[];
  /** Files that failed at first, and were run once more, alone. */
  readonly again?: readonly string[];
}

interface TestFile {
  /** Its path. */
  readonly name: string;
  readonly status: "passed" | "failed";
  readonly assertionResults: readonly { readonly status: string }[];
}

export function failedFiles({ testResults }: TestReport): string[] {
  return testResults.filter(({ status }) => status === "failed").map(({ name }) => name);
}

/** The earlier report, with what came of the files that were run again in the place of what came of them then. */
export function renewed(earlier: TestReport, later: TestReport): TestReport {
  const names = later.testResults.map(({ name }) => name);
  const kept = earlier.testResults.filter(({ name }) => !names.includes(name));
  return {
    testResults: [...kept, ...later.testResults],
    again: [...new Set([...(earlier.again ?? []), ...names])].toSorted(),
  };
}

/** For people. `root`: the checkout in which the tests ran. */
export function resultOf(report: TestReport, root: string): string {
  const cases = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const count = (wanted: readonly string[]) => cases.filter(({ status }) => wanted.includes(status)).length;
  const again = (report.again ?? []).map((name) => name.replace(`${root}/`, ""));
  const others = count(["skipped", "pending", "todo"]);
  return [
    `${count(["passed"])} passed, ${count(["failed"])} failed`,
    ...(others === 0 ? [] : [`${others} did not run`]),
    ...(again.length === 0 ? [] : [`of these at another try, alone: ${again.join(", ")}`]),
  ].join("; ");
}
