// The kernel and initramfs of this host, and the cache that they and the images come from, by its settings.

import { join } from "node:path";
import type { Logger } from "pino";
import type { HostConfig } from "../config/config.ts";
import { containOf, dataRangesOf } from "../config/native-programs.ts";
import { bootFolders, ensureDebianKernel, ensureInitramfs, type BootFiles } from "./boot-files.ts";
import { ImageCache } from "./image-cache.ts";
import { ensureOwnKernel } from "./own-kernel.ts";

type Step = <T>(title: string, work: () => Promise<T>) => Promise<T>;

export function openImageCache(config: HostConfig, log: Logger): ImageCache {
  const { imageCacheFolder: folder } = config;
  return new ImageCache({ folder, contain: containOf(config), dataRanges: dataRangesOf(config), log });
}

export async function openBootFiles(config: HostConfig, cache: ImageCache, step: Step): Promise<BootFiles> {
  const { assetsFolder, debianMirror, guestKernel } = config;
  const contain = containOf(config);
  const packed = { agent: join(config.nativeFolder, "agent"), contain };
  const { debian, own } = bootFolders(assetsFolder);
  if (guestKernel === undefined) {
    const kernel = await step("Guest kernel from Debian", () =>
      ensureDebianKernel(debian, { mirror: debianMirror, contain, cache }),
    );
    return ensureInitramfs(debian, kernel, packed);
  }
  const kernel = await step("Guest kernel of your own", () => ensureOwnKernel(own, guestKernel));
  return ensureInitramfs(own, kernel, packed);
}
