// An image of one layer, as a registry keeps it.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Blob {
  readonly digest: string;
  readonly bytes: Buffer;
}

export interface TestImage {
  readonly layer: Blob;
  readonly config: Blob;
  readonly manifest: Blob;
}

export const MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json";

/** Busybox as its shell, and `/made` with this text, and with this as its attribute `user.note`. */
export function busyboxImage(text: string, note?: string): TestImage {
  const folder = mkdtempSync(join(tmpdir(), "skerry-test-image-"));
  try {
    for (const name of ["bin", "srv", "tmp"]) mkdirSync(join(folder, name));
    cpSync("/bin/busybox", join(folder, "bin/busybox"), { dereference: true });
    for (const name of ["sh", "cat", "id", "pwd"]) symlinkSync("busybox", join(folder, "bin", name));
    writeFileSync(join(folder, "made"), text);
    if (note !== undefined) {
      const set = "import os, sys; os.setxattr(sys.argv[1], 'user.note', sys.argv[2].encode())";
      execFileSync("python3", ["-c", set, join(folder, "made"), note]);
    }
    const layer = blobOf(execFileSync("tar", ["-C", folder, "--xattrs", "-c", "."], { maxBuffer: 64 << 20 }));
    const config = jsonBlob({
      architecture: "amd64",
      os: "linux",
      config: { Env: ["PATH=/bin", "GREETING=from the image"], WorkingDir: "/srv" },
      rootfs: { type: "layers", diff_ids: [layer.digest] },
    });
    return { layer, config, manifest: manifestOf(config, layer) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function manifestOf(config: Blob, layer: Blob): Blob {
  const descriptor = ({ digest, bytes }: Blob, type: string) => ({
    mediaType: `application/vnd.docker.${type}`,
    size: bytes.length,
    digest,
  });
  return jsonBlob({
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: descriptor(config, "container.image.v1+json"),
    layers: [descriptor(layer, "image.rootfs.diff.tar")],
  });
}

function jsonBlob(value: unknown): Blob {
  return blobOf(Buffer.from(JSON.stringify(value)));
}

function blobOf(bytes: Buffer): Blob {
  return { digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`, bytes };
}
