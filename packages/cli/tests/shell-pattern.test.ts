import { expect, test } from "vitest";
import { isMeant } from "../src/commands/copy/shell-pattern.ts";

test.each([
  ["/root/*.xml", "/root/a.xml"],
  ["/root/*/re?ort.xml", "/root/out/report.xml"],
  ["/root/[a-c]*.txt", "/root/b c.txt"],
  ["/root/[!a]*", "/root/b"],
  ["/root/[x].txt", "/root/[x].txt"],
  ["/root/a+(b)-{c}$.x", "/root/a+(b)-{c}$.x"],
  ["/root/ü*", "/root/übung\n.txt"],
  ["/root/.*rc", "/root/.bashrc"],
])("%s means %s", (pattern, path) => {
  expect(isMeant(pattern, path)).toBe(true);
});

test.each([
  ["/root/*", "/root/.."],
  ["/root/*", "/root/.bashrc"],
  ["/root/?bashrc", "/root/.bashrc"],
  ["/root/[.a]bashrc", "/root/.bashrc"],
  ["/root/*", "/root/out/.."],
  ["/root/*.xml", "/root/../etc/a.xml"],
  ["/root/*.xml", "/root/axml"],
  ["/root/*.xml", "/etc/a.xml"],
  ["/root/[!a]*", "/root/a"],
  ["/root/[!a]b", "/root//b"],
  ["/root/[a]b", "/root/[a]bc"],
  ["/root/[z-a]", "/root/b"],
])("%s does not mean %s, whatever a guest says", (pattern, path) => {
  expect(isMeant(pattern, path)).toBe(false);
});
