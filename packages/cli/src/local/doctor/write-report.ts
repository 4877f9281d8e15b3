import { mkdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { machineReportOf, type MachineReport } from "@skerry/contract/hosts/machine-report";
import { redactAll } from "./redact.ts";
import { reportText } from "./report-text.ts";

export interface ReportPlace {
  readonly folder: string;
  /** Of the files, NAME.json and NAME.txt. */
  readonly name: string;
  /** The name of this machine, which does not get into them. */
  readonly hostName?: string;
}

/** Resolves with the two paths. */
export async function writeReport(
  { folder, name, hostName = hostname() }: ReportPlace,
  report: MachineReport,
): Promise<readonly [json: string, text: string]> {
  const clean = redactAll(report, hostName);
  const files = [join(folder, `${name}.json`), join(folder, `${name}.txt`)] as const;
  await mkdir(folder, { recursive: true });
  await writeFile(files[0], `${JSON.stringify(clean, undefined, 2)}\n`);
  await writeFile(files[1], reportText(clean));
  return files;
}

/** The report that an earlier run left there; undefined where there is none that is understood. */
export async function earlierReport({ folder, name }: ReportPlace): Promise<MachineReport | undefined> {
  const text = await readFile(join(folder, `${name}.json`), "utf8").catch(() => "");
  try {
    return machineReportOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}
