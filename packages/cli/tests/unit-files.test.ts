import { SERVICE_FILES } from "@skerry/contract/connections/file-limit";
import { expect, test } from "vitest";
import { installationAt } from "../src/local/install/installation.ts";
import { unitFiles } from "../src/local/install/unit-files.ts";
import { readLayout } from "../src/local/system/layout.ts";

const installation = installationAt({ root: "", prefix: "/opt/skerry" });
const layout = readLayout("/opt/skerry/lib/skerry/1/dist", { SKERRY_STATE: "/var/lib/skerry-of-a-test" });

function commandsOf(files: Readonly<Record<string, string>>): string[] {
  return Object.values(files).flatMap((text) => text.match(/^Exec\w+=.*$/gm) ?? []);
}

test("every unit starts this program, which knows flags, settings and users of the servers", () => {
  const files = unitFiles(installation, layout);
  expect(Object.keys(files).toSorted()).toEqual([
    "skerry-control.service",
    "skerry-host.service",
    "skerry-postgres.service",
    "skerry-vms.service",
    "skerry.target",
  ]);
  for (const command of commandsOf(files))
    expect(command).toMatch(/^Exec\w+=\+?\/opt\/skerry\/lib\/skerry\/current\/bin\/skerry unit [a-z-]+$/);
  expect(files["skerry-host.service"]).toContain("KillMode=process");
  expect(files["skerry-vms.service"]).not.toContain("PartOf=");
});

test("control and host may open the files that their own limits need, and leave no core files", () => {
  const files = unitFiles(installation, layout);
  for (const name of ["skerry-control.service", "skerry-host.service"])
    expect(files[name], name).toContain(`\nLimitNOFILE=${SERVICE_FILES}\nLimitCORE=0\n`);
});

test("a machine that has joined runs a host, and one with another's database no PostgreSQL", () => {
  const joined = { control: "http://192.0.2.1:7070", name: "rack", address: "", listen: "" };
  expect(Object.keys(unitFiles(installation, { ...layout, joined })).toSorted()).toEqual([
    "skerry-host.service",
    "skerry-vms.service",
    "skerry.target",
  ]);
  const files = unitFiles(installation, { ...layout, externalDatabaseUrl: "postgresql://db/skerry" });
  expect(Object.keys(files)).not.toContain("skerry-postgres.service");
  expect(files["skerry-control.service"]).not.toContain("skerry-postgres");
});

test("a prefix that a unit would read otherwise is refused", () => {
  expect(() => installationAt({ root: "", prefix: "/opt/a b" })).toThrow("absolute path");
  expect(() => installationAt({ root: "", prefix: "opt" })).toThrow("absolute path");
});
