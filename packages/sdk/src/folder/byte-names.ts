// Names of files, which are bytes on Linux and need not be UTF-8, as strings and back without a loss: a byte
// that belongs to no character is a lone surrogate, U+DC80 to U+DCFF, as in Python (`surrogateescape`). No
// character of UTF-8 decodes to one.

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const ESCAPE = 0xdc00;
const CHARACTER_MAX_BYTES = 4;

export function nameOfBytes(bytes: Uint8Array): string {
  const whole = decoded(bytes);
  if (whole !== undefined) return whole;
  let name = "";
  for (let at = 0; at < bytes.length;) {
    const length = characterAt(bytes, at);
    name += decoded(bytes.subarray(at, at + length)) ?? String.fromCharCode(ESCAPE + (bytes[at] ?? 0));
    at += length;
  }
  return name;
}

export function bytesOfName(name: string): Buffer {
  if (name.isWellFormed()) return Buffer.from(name);
  return Buffer.concat(
    Array.from(name, (character) => {
      const code = character.charCodeAt(0);
      const isByte = character.length === 1 && code >= ESCAPE + 0x80 && code <= ESCAPE + 0xff;
      return isByte ? Buffer.of(code - ESCAPE) : Buffer.from(character);
    }),
  );
}

/** For Node's file system, which takes a string for UTF-8. */
export function pathOfName(name: string): string | Buffer {
  return name.isWellFormed() ? name : bytesOfName(name);
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Bytes of the character that begins there; 1 for a byte that begins none. */
function characterAt(bytes: Uint8Array, at: number): number {
  for (let length = 1; length <= CHARACTER_MAX_BYTES && at + length <= bytes.length; length += 1)
    if (decoded(bytes.subarray(at, at + length)) !== undefined) return length;
  return 1;
}
