import { stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { deviceNumber } from "@skerry/contract/hosts/device-number";
import { checkDiskEncryption, deviceOf } from "../src/local/doctor/disk-encryption.ts";
import { plantedFiles } from "./support/planted-files.ts";

const DEVICE = "/sys/dev/block/254:0";
const luks = "CRYPT-LUKS2-8f3c0d1e2b4a5c6d7e8f9a0b1c2d3e4f-root";
const lvm = "LVM-abcdefghijklmnopqrstuvwxyz";

test.each<[string, Record<string, string>, string, string]>([
  [
    "a partition of a disk",
    { [`${DEVICE}/dev`]: "254:0", [`${DEVICE}/partition`]: "1" },
    "warning",
    "does not encrypt",
  ],
  ["LUKS", { [`${DEVICE}/dm/uuid`]: `${luks}\n`, [`${DEVICE}/slaves/sda2/dev`]: "8:2" }, "ok", "dm-crypt"],
  ["LVM on LUKS", { [`${DEVICE}/dm/uuid`]: lvm, [`${DEVICE}/slaves/dm-0/dm/uuid`]: luks }, "ok", "dm-crypt"],
  [
    "LVM on a disk",
    { [`${DEVICE}/dm/uuid`]: lvm, [`${DEVICE}/slaves/sda2/dev`]: "8:2" },
    "warning",
    "does not encrypt",
  ],
  [
    "RAID of which one half is encrypted",
    { [`${DEVICE}/slaves/dm-0/dm/uuid`]: luks, [`${DEVICE}/slaves/sdb1/dev`]: "8:17" },
    "warning",
    "does not encrypt",
  ],
  ["a file system without a device", {}, "not_tried", "tells of no device"],
])("doctor tells of %s whether it encrypts", async (_what, files, verdict, found) => {
  const outcome = await checkDiskEncryption(plantedFiles(files), "254:0");
  expect(outcome.verdict).toBe(verdict);
  expect(outcome.found).toContain(found);
  expect(outcome.remedy === "").toBe(verdict !== "warning");
});

test("the device is that of the nearest folder that is there", async () => {
  const { dev } = await stat("/tmp", { bigint: true });
  expect(await deviceOf("/tmp/skerry-is-not-there/state")).toBe(deviceNumber(dev));
});
