// An image as `podman save` and `docker save` write it, and as a hostile client might.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Blob, TestImage } from "./test-image.ts";

type Files = Readonly<Record<string, string | Buffer>>;

const OCI_LAYOUT = JSON.stringify({ imageLayoutVersion: "1.0.0" });

/** `--format oci-archive`. Several images: what no build takes. */
export function ociArchive(images: readonly TestImage[], lie?: Buffer): Uint8Array<ArrayBuffer> {
  const blobs = images.flatMap(({ layer, config, manifest }) => [
    [pathOf(layer), lie ?? layer.bytes] as const,
    [pathOf(config), config.bytes] as const,
    [pathOf(manifest), manifest.bytes] as const,
  ]);
  const manifests = images.map(({ manifest }) => ({
    mediaType: (JSON.parse(manifest.bytes.toString()) as { mediaType: string }).mediaType,
    digest: manifest.digest,
    size: manifest.bytes.length,
  }));
  return archive({
    "oci-layout": OCI_LAYOUT,
    "index.json": JSON.stringify({ schemaVersion: 2, manifests }),
    ...Object.fromEntries(blobs),
  });
}

/** `docker save`, of before it had an OCI layout beside. */
export function dockerArchive(images: readonly TestImage[], lie?: Buffer): Uint8Array<ArrayBuffer> {
  const files = images.flatMap(({ layer, config }) => [
    [`${hexOf(layer)}/layer.tar`, lie ?? layer.bytes] as const,
    [`${hexOf(config)}.json`, config.bytes] as const,
  ]);
  const manifest = images.map(({ layer, config }, index) => ({
    Config: `${hexOf(config)}.json`,
    RepoTags: [`test/image-${index}:1`],
    Layers: [`${hexOf(layer)}/layer.tar`],
  }));
  return archive({ "manifest.json": JSON.stringify(manifest), ...Object.fromEntries(files) });
}

export function archive(files: Files): Uint8Array<ArrayBuffer> {
  const folder = mkdtempSync(join(tmpdir(), "skerry-test-archive-"));
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    return new Uint8Array(execFileSync("tar", ["-C", folder, "-c", "."], { maxBuffer: 256 << 20 }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function pathOf({ digest }: Blob): string {
  return `blobs/${digest.replace(":", "/")}`;
}

function hexOf({ digest }: Blob): string {
  return digest.replace("sha256:", "");
}
