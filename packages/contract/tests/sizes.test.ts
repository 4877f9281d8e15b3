import { expect, test } from "vitest";
import { DEFAULT_SIZE, findSize, sizes } from "@skerry/contract/sizes";

test("the list of sizes is the one that is published", () => {
  const rows = sizes.map((size) => `${size.name} ${size.vcpus} ${size.memory_mib} ${size.cpu}`);
  expect(rows).toEqual([
    "shared-cpu-1x 1 256 shared",
    "shared-cpu-2x 2 512 shared",
    "shared-cpu-4x 4 1024 shared",
    "shared-cpu-8x 8 2048 shared",
    "performance-1x 1 2048 performance",
    "performance-2x 2 4096 performance",
    "performance-4x 4 8192 performance",
    "performance-8x 8 16384 performance",
    "performance-16x 16 32768 performance",
  ]);
});

test("a size is found by its exact name, and the default is one of them", () => {
  expect(findSize("performance-2x")).toMatchObject({ vcpus: 2, memory_mib: 4096 });
  expect(findSize(DEFAULT_SIZE)).toBe(sizes[0]);
  for (const name of ["", "shared-cpu-1X", "shared-cpu-3x", "__proto__", "toString"]) {
    expect(findSize(name)).toBeUndefined();
  }
});
