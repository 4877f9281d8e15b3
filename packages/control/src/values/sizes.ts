import { SkerryError } from "@skerry/contract/errors";
import { findSize, sizes, type Size } from "@skerry/contract/sizes";

export function readSize(name: string): Size {
  const size = findSize(name);
  if (size !== undefined) return size;
  throw new SkerryError("unknown_size", `There is no size "${name}".`, {
    remediation: `Use one of: ${sizes.map((known) => known.name).join(", ")}.`,
    context: { field: "size", value: name },
  });
}
