// Pictures of a page, and those of it that are kept in `baselines/`, as PNG with few colours. They are compared pixel by pixel, in the browser itself, where
// this machine draws letters as the one did that the pictures were taken on. Another Chromium or other fonts draw each letter a little differently:
// there the pictures say nothing, and the run says so.
//
//   SKERRY_SCREENSHOTS=write npx vitest run --project dashboard screenshots      takes all of them anew

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CDPSession, Page } from "./chromium.ts";
import { smallPng } from "./small-png.ts";

const BASELINES = join(import.meta.dirname, "../baselines");
const DRAWN_BY = join(BASELINES, "drawn-by.json");
const OUTPUT = join(import.meta.dirname, "../../../../.cache/screenshots");
/** Of all pixels. */
const DIFFERENT_MAX = 0.001;
/** Until two pictures in a row are the same. */
const TRIES = 20;

/** What pictures depend on beside the page. */
interface DrawnBy {
  readonly chromium: string;
  /** SHA-256 of some letters and signs as they are drawn. */
  readonly letters: string;
}

interface Decoded {
  readonly width: number;
  readonly height: number;
  /** Base64. */
  readonly pixels: string;
}

export class Screenshots implements AsyncDisposable {
  readonly isWriting = process.env["SKERRY_SCREENSHOTS"] === "write";
  readonly #page: Page;
  readonly #session: CDPSession;
  /** Compares: outside of the page, whose rules forbid much. */
  readonly #bench: Page;
  readonly #isComparable: boolean;

  private constructor(page: Page, session: CDPSession, bench: Page, isComparable: boolean) {
    this.#page = page;
    this.#session = session;
    this.#bench = bench;
    this.#isComparable = isComparable;
  }

  static async open(page: Page): Promise<Screenshots> {
    const browser = page.context().browser();
    if (browser === null) throw new Error("the browser has gone");
    const bench = await browser.newPage();
    const here: DrawnBy = {
      chromium: browser.version().split(".")[0] ?? "",
      letters: createHash("sha256")
        .update(String(await bench.evaluate(LETTERS)))
        .digest("hex"),
    };
    const session = await page.context().newCDPSession(page);
    const screenshots = new Screenshots(page, session, bench, isSame(here));
    if (screenshots.isWriting) {
      mkdirSync(BASELINES, { recursive: true });
      writeFileSync(DRAWN_BY, `${JSON.stringify(here, null, 2)}\n`);
    }
    return screenshots;
  }

  /** Empty where it looks as it did. Otherwise says how much differs, and where the picture is. */
  async difference(name: string): Promise<string> {
    const file = join(BASELINES, `${name}.png`);
    if (!this.isWriting && !this.#isComparable) return "";
    const taken = await this.#take();
    if (this.isWriting) {
      const { pixels, width, height } = JSON.parse(await this.#run(DECODE, taken)) as Decoded;
      writeFileSync(file, smallPng(Buffer.from(pixels, "base64"), width, height));
      return "";
    }
    if (!existsSync(file)) return `there is no ${file}`;
    const before = readFileSync(file).toString("base64");
    const part = Number(await this.#run(COMPARE, taken, before));
    if (part <= DIFFERENT_MAX) return "";
    mkdirSync(OUTPUT, { recursive: true });
    const now = join(OUTPUT, `${name}.png`);
    writeFileSync(now, Buffer.from(taken, "base64"));
    return `${(part * 100).toFixed(2)} % of ${name} differ from ${file}; now it looks like ${now}`;
  }

  /** Names each thing that is wider than the window or covered by another once the page is at rest. */
  async faults(): Promise<readonly string[]> {
    const atOnce = (await this.#page.evaluate(FAULTS)) as readonly string[];
    if (atOnce.length === 0) return atOnce;
    // A terminal fits itself to a window of another size some frames later.
    await this.#take();
    return (await this.#page.evaluate(FAULTS)) as readonly string[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.detach();
    await this.#bench.close();
  }

  /** PNG in base64, when nothing changes any more. */
  async #take(): Promise<string> {
    let before = "";
    for (let tried = 0; tried < TRIES; tried += 1) {
      await this.#page.evaluate(STILL);
      const { data } = await this.#session.send("Page.captureScreenshot", { format: "png" });
      if (data === before) return data;
      before = data;
    }
    throw new Error("the page does not come to rest");
  }

  async #run(program: string, ...pictures: readonly string[]): Promise<string> {
    return String(await this.#bench.evaluate(`(${program})(...${JSON.stringify(pictures)})`));
  }
}

function isSame(here: DrawnBy): boolean {
  if (!existsSync(DRAWN_BY)) {
    process.stdout.write("screenshots are not compared: there are none yet\n");
    return false;
  }
  const there = JSON.parse(readFileSync(DRAWN_BY, "utf8")) as DrawnBy;
  const reasons = [
    ...(there.chromium === here.chromium
      ? []
      : [`this is Chromium ${here.chromium}, and they are of ${there.chromium}`]),
    ...(there.letters === here.letters ? [] : ["letters are drawn differently here"]),
  ];
  if (reasons.length > 0) process.stdout.write(`screenshots are not compared: ${reasons.join("; ")}\n`);
  return reasons.length === 0;
}

/** Letters of each kind, and the signs that come from fonts of the system. */
const LETTERS = `(() => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [600, 60];
  const context = canvas.getContext("2d");
  for (const [index, font] of ["sans-serif", "monospace"].entries()) {
    context.font = "13px " + font;
    context.fillText("Skerry 0123 ●■▲○◆◐⌘…→× é", 4, 20 + index * 24);
  }
  return canvas.toDataURL("image/png");
})()`;

const PIXELS = `async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes]));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(picture, 0, 0);
  return context.getImageData(0, 0, picture.width, picture.height);
}`;

/** Its size, and its pixels in base64. */
const DECODE = `async (base64) => {
  const { width, height, data } = await (${PIXELS})(base64);
  let text = "";
  for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));
  return JSON.stringify({ width, height, pixels: btoa(text) });
}`;

/** Which part of the pixels differs, by more than what the small form of a picture loses. */
const COMPARE = `async (...pictures) => {
  const [one, other] = await Promise.all(pictures.map(${PIXELS}));
  if (one.width !== other.width || one.height !== other.height) return 1;
  let different = 0;
  for (let at = 0; at < one.data.length; at += 4)
    if ([0, 1, 2].some((colour) => Math.abs(one.data[at + colour] - other.data[at + colour]) > 16)) different += 1;
  return different / (one.data.length / 4);
}`;

/** The same in every run: ids, times, and what was measured meanwhile. */
const STILL = `(() => {
  document.activeElement?.blur?.();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const still = node.nodeValue.replace(/\\b([a-z]{3}_)([0-9a-z]+)((?:…[0-9a-z]+)?)/g, (_, kind, head, tail) =>
      kind + head.replace(/./g, "0") + tail.replace(/[0-9a-z]/g, "0")).replace(/\\b\\d\\d:\\d\\d:\\d\\d\\b/g, "00:00:00").replace(/\\b[0-9a-f]{64}\\b/g, (digest) => "0".repeat(digest.length));
    if (node.nodeValue !== still) node.nodeValue = still;
  }
  for (const time of document.querySelectorAll("time")) if (time.textContent !== "5 min ago") time.textContent = "5 min ago";
  for (const line of document.querySelectorAll("polyline, path")) for (const name of ["points", "d"]) line.removeAttribute(name);
  return document.fonts.ready.then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(null)))));
})()`;

const FAULTS = `(() => {
  const page = document.documentElement;
  const faults = page.scrollWidth > page.clientWidth ? ["the page is " + page.scrollWidth + " px wide, its window " + page.clientWidth] : [];
  for (const element of document.querySelectorAll("a, button, input, select, summary, h1, h2")) {
    const { left, top, width, height } = element.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    if (!element.checkVisibility() || width === 0 || height === 0 || x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) continue;
    if (element.closest(".skip, .xterm") !== null || isClipped(element, x, y)) continue;
    const above = document.elementFromPoint(x, y);
    if (above === null || above.closest("header.top-bar, nav.sidebar") !== element.closest("header.top-bar, nav.sidebar")) continue;
    if (!element.contains(above) && !above.contains(element)) faults.push(element.outerHTML.slice(0, 80) + " lies below " + above.outerHTML.slice(0, 80));
  }
  return faults;
  function isClipped(element, x, y) {
    for (let around = element.parentElement; around !== null; around = around.parentElement) {
      const box = around.getBoundingClientRect();
      const isOut = x < box.left || x > box.right || y < box.top || y > box.bottom;
      if (isOut && getComputedStyle(around).overflow !== "visible") return true;
    }
    return false;
  }
})()`;
