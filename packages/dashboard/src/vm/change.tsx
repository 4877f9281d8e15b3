// A form that changes a sandbox or a machine. It begins with what is, and sends what was made otherwise.

import { call, command } from "../ui/copy-as.tsx";
import { Form, type FormProps, type Given } from "../ui/form.tsx";
import type { VmKind } from "./vm-kind.ts";

type Changes = Readonly<Record<string, string | null>>;

interface ChangeProps extends Pick<FormProps, "schema" | "labels" | "choices"> {
  readonly kind: VmKind;
  readonly id: string;
  /** Null: it has none. */
  readonly now: Changes;
  readonly send: (changes: Changes) => Promise<unknown>;
}

export function Change({ kind, id, now, send, ...fields }: ChangeProps) {
  const { noun, path } = kind;
  return (
    <details class="more">
      <summary>Change it</summary>
      <Form
        {...fields}
        initial={Object.fromEntries(Object.entries(now).map(([name, value]) => [name, value ?? ""]))}
        submit={["Change", "Changing…"]}
        of={`the ${noun}`}
        needs={kind.writeScope}
        request={(given) => ({
          method: "PATCH",
          path: `/v1${path}/${id}`,
          json: changesOf(now, given),
          cli: command(`skerry ${noun} update`, id, ...Object.entries(changesOf(now, given)).flatMap(flag)),
          typescript: call(`${path.slice(1)}.update`, id, changesOf(now, given)),
        })}
        send={(given) => send(changesOf(now, given))}
      />
    </details>
  );
}

/** A field that was emptied takes away what it had. */
function changesOf(now: Changes, given: Given): Changes {
  const next = Object.keys(now).map((name) => [name, given[name] ?? null] as const);
  return Object.fromEntries(next.filter(([name, value]) => value !== now[name]));
}

function flag([name, value]: readonly [string, string | null]): readonly string[] {
  const word = name.replaceAll("_", "-");
  return value === null ? [`--no-${word}`] : [`--${word}`, value];
}
