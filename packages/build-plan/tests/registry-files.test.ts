import { expect, test } from "vitest";
import { authFile, mirrorsFile } from "../src/scripts/registry-files.ts";
import { stepFault } from "../src/plan/step-fault.ts";
import { registryOf } from "@skerry/contract/registries/registry-host";

test.each([
  ["alpine", "docker.io"],
  ["library/alpine:3", "docker.io"],
  ["docker.io/library/alpine", "docker.io"],
  ["index.docker.io/library/alpine", "docker.io"],
  ["Registry.Example/app@sha256:00", "registry.example"],
  ["registry.example:5000/team/app:1", "registry.example:5000"],
  ["localhost/app", "localhost"],
])("%s is an image of %s", (reference, host) => {
  expect(registryOf(reference)).toBe(host);
});

test("logins and mirrors become what containers' tools read", () => {
  const logins = [{ host: "registry.example", username: "me", password: "p:w" }];
  expect(JSON.parse(authFile(logins))).toEqual({ auths: { "registry.example": { auth: "bWU6cDp3" } } });
  const mirrors = [{ registry: "docker.io", mirror: "mirror.example:5000/hub", plain: true }];
  expect(mirrorsFile(mirrors)).toBe(
    '[[registry]]\nprefix = "docker.io"\nlocation = "docker.io"\n[[registry.mirror]]\nlocation = "mirror.example:5000/hub"\ninsecure = true\n',
  );
  const own = "lan.example:5000";
  const several = [
    { registry: own, mirror: "near.example", plain: false },
    { registry: own, mirror: own, plain: true },
  ];
  expect(mirrorsFile(several)).toBe(
    '[[registry]]\nprefix = "lan.example:5000"\nlocation = "lan.example:5000"\ninsecure = true\n[[registry.mirror]]\nlocation = "near.example"\ninsecure = false\n',
  );
  expect(mirrorsFile([])).toBe("");
});

test("why a pull has failed is told by its own code", () => {
  const exit = { exit_code: 125, signal: 0, timed_out: false, oom_killed: false };
  expect(stepFault(exit, "skerry-build: registry_denied: the registry says no")).toEqual({
    code: "registry_denied",
    message: "The registry says no.",
  });
});
