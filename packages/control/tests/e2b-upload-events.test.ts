import { expect, test } from "vitest";
import { isPerhapsNameless, UploadEvents, type NamedEvent } from "../src/e2b/upload-events.ts";

function toldOf(...events: (readonly [NamedEvent["event"], string])[]): string[] {
  const uploads = new UploadEvents();
  return events.flatMap(([event, path]) => {
    if (!isPerhapsNameless(path)) return uploads.told({ event, path }).map((told) => `${told} ${path}`);
    uploads.note({ event, path });
    return [];
  });
}

test("a file that is uploaded is told as created and written, by its name alone", () => {
  const told = toldOf(
    ["write", "a/#7"],
    ["write", "a/#7"],
    ["chmod", "a/#7"],
    ["create", "a/f"],
    ["chmod", "a/f"],
  );
  expect(told).toEqual(["create a/f", "write a/f", "chmod a/f"]);
});

test("one that replaces another is told as written", () => {
  const told = toldOf(
    ["write", "#7"],
    ["create", ".skerry-12-345"],
    ["rename", ".skerry-12-345"],
    ["create", "f"],
    ["create", "g"],
  );
  expect(told).toEqual(["write f", "create g"]);
});

test("each upload counts once, and those of another folder do not", () => {
  const told = toldOf(
    ["write", "#7"],
    ["write", "#8"],
    ["create", "a/f"],
    ["create", "f"],
    ["create", "g"],
    ["create", "h"],
  );
  expect(told).toEqual(["create a/f", "create f", "write f", "create g", "write g", "create h"]);
});

test("what programs do in the sandbox is told as it is", () => {
  const events = [
    ["create", "f"],
    ["write", "f"],
    ["rename", "f"],
    ["create", "g"],
    ["remove", "g"],
    ["create", "#x"],
  ] as const;
  expect(toldOf(...events)).toEqual(events.map((event) => event.join(" ")));
});
