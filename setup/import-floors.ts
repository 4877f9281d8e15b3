// The imports between the files of a package, and the order in which they may point. The rooms of a package, which are its folders, lie on
// floors: a room imports from lower floors only, types included, and rooms on one floor do not know each other.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** From the ground up. `.` is what lies in `src/` itself, except a file that has a place of its own, such as `main.ts`. */
export type Floors = readonly (readonly string[])[];

export interface Import {
  readonly from: string;
  /** Relative to `src/` like `from`; another package's by its name. */
  readonly to: string;
  readonly isType: boolean;
}

export function filesOf(src: string): string[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
}

export function importsOf(src: string): Import[] {
  return filesOf(src).flatMap((file) => {
    const text = readFileSync(join(src, file), "utf8");
    const statements = /^(import|export)( type)?\b[^;]*?from "([^"]+)"|\bimport\("([^"]+)"\)/gm;
    return [...text.matchAll(statements)].flatMap(([, , type, target = "", dynamic]) => {
      const to = dynamic ?? target;
      const path = to.startsWith(".") ? relative(src, join(src, dirname(file), to)) : to;
      return [{ from: file, to: path, isType: type !== undefined }];
    });
  });
}

export function roomOf(floors: Floors, file: string): string {
  return floors.some((rooms) => rooms.includes(file)) ? file : dirname(file);
}

function floorOf(floors: Floors, file: string): number {
  return floors.findIndex((rooms) => rooms.includes(roomOf(floors, file)));
}

/** Why an import between two files of a package is not allowed; undefined where it is. */
export function floorFault(floors: Floors, { from, to }: Import): string | undefined {
  if (roomOf(floors, from) === roomOf(floors, to)) return undefined;
  return floorOf(floors, to) < floorOf(floors, from) ? undefined : `${from} -> ${to}: not a lower floor`;
}

/** What the table and the folders do not have in common: rooms without a floor, and floors without a room. */
export function unlisted(floors: Floors, files: readonly string[]): string[] {
  const rooms = new Set(files.map((file) => roomOf(floors, file)));
  const listed = new Set(floors.flat());
  return [
    ...[...rooms].filter((room) => !listed.has(room)),
    ...[...listed].filter((room) => !rooms.has(room)),
  ];
}
