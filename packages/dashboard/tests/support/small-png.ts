// A PNG with few colours: pictures of a page that are kept in git shall be small.

import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS_MAX = 256;
/** Of each of red, green and blue this is what is kept; a colour is off by half of the rest at most. */
const KEPT_BITS = 0xf0;
const HALF_OF_REST = 0x08;

/** `pixels`: red, green, blue and opacity, row by row. */
export function smallPng(pixels: Uint8Array, width: number, height: number): Buffer {
  const palette = new Map<number, number>();
  // Each row begins with how it is filtered: not at all.
  const rows = Buffer.alloc((width + 1) * height);
  for (let row = 0; row < height; row += 1)
    for (let column = 0; column < width; column += 1) {
      const at = (row * width + column) * 4;
      const colour = [0, 1, 2].reduce((sum, part) => sum * 256 + kept(pixels[at + part] ?? 0), 0);
      const index = palette.get(colour) ?? palette.size;
      palette.set(colour, index);
      rows[row * (width + 1) + column + 1] = index;
    }
  if (palette.size > COLOURS_MAX) throw new Error(`the picture has ${palette.size} colours`);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3], 8); // bits of an index, and that it is one
  const colours = Buffer.alloc(palette.size * 3);
  for (const [colour, index] of palette) colours.writeUIntBE(colour, index * 3, 3);
  const parts = [
    ["IHDR", head],
    ["PLTE", colours],
    ["IDAT", deflateSync(rows, { level: 9 })],
  ] as const;
  return Buffer.concat([
    SIGNATURE,
    ...parts.map(([name, data]) => chunk(name, data)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function kept(part: number): number {
  return (part & KEPT_BITS) | HALF_OF_REST;
}

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}
