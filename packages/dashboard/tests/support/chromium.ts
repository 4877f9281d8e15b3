// Debian's Chromium, as `setup/prepare.sh` installs it.

import { chromium, type Browser } from "playwright-core";

const CHROMIUM = "/usr/bin/chromium";

/** Draws the same page the same way each time. The caller closes it. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--font-render-hinting=none",
      "--force-color-profile=srgb",
    ],
  });
}

/** Of what else drives it. */
export type { Browser, CDPSession, Page } from "playwright-core";
