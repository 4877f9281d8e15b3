// What a run of tests has reported, and what a later run of those files that failed adds to it.

export interface TestReport {
  readonly testResults: readonly ReportedFile[];
  /** Files that failed at first, and were run once more, alone. */
  readonly again?: readonly string[];
}

export interface ReportedFile {
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

/** Its tests that ended, or were left, in one of these ways. */
export function countOf({ testResults }: TestReport, wanted: readonly string[]): number {
  const cases = testResults.flatMap(({ assertionResults }) => assertionResults);
  return cases.filter(({ status }) => wanted.includes(status)).length;
}

/** For people. `root`: the checkout in which the tests ran. */
export function resultOf(report: TestReport, root: string): string {
  const count = (wanted: readonly string[]) => countOf(report, wanted);
  const again = (report.again ?? []).map((name) => name.replace(`${root}/`, ""));
  const others = count(["skipped", "pending", "todo"]);
  return [
    `${count(["passed"])} passed, ${count(["failed"])} failed`,
    ...(others === 0 ? [] : [`${others} did not run`]),
    ...(again.length === 0 ? [] : [`of these at another try, alone: ${again.join(", ")}`]),
  ].join("; ");
}
