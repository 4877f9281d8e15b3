// What an examination of a machine leaves behind for a reader elsewhere: `skerry doctor --thorough` and `npm run try-kvm` write it as JSON,
// and as text.

import { Type, type Static } from "typebox";
import { Value } from "typebox/value";
import { Finding } from "./finding.ts";

/** Things of one kind that the examination made, counted where they really are. */
const Traces = Type.Object(
  {
    kind: Type.String({ minLength: 1 }),
    before: Type.Integer({ minimum: 0 }),
    during: Type.Integer({ minimum: 0 }),
    after: Type.Integer({ minimum: 0 }),
  },
  { additionalProperties: false },
);
export type Traces = Static<typeof Traces>;

const MachineReport = Type.Object(
  {
    format: Type.Literal(1),
    program: Type.String({ minLength: 1 }),
    skerry_version: Type.String({ minLength: 1 }),
    /** How much was tried: `quick`, `full` or `long`. */
    amount: Type.String({ minLength: 1 }),
    made_at: Type.String({ format: "date-time" }),
    took_s: Type.Number({ minimum: 0 }),
    /** Guests were emulated: no figure says anything about KVM. */
    emulated: Type.Boolean(),
    emulation_hides: Type.Array(Type.String()),
    /** Properties of the machine, by name. */
    machine: Type.Record(Type.String(), Type.String()),
    findings: Type.Array(Finding),
    traces: Type.Array(Traces),
  },
  { additionalProperties: false },
);
export type MachineReport = Static<typeof MachineReport>;

/** The report that a file's JSON is; undefined where it is none, or of another format. */
export function machineReportOf(value: unknown): MachineReport | undefined {
  return Value.Check(MachineReport, value) ? value : undefined;
}
