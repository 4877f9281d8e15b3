// A state as a shape, a word and a colour: a person who does not see colours sees the shape.

interface Tone {
  readonly shape: "●" | "■" | "▲" | "○" | "◆";
  readonly name: "ok" | "busy" | "bad" | "idle" | "drain";
}

const ok: Tone = { shape: "●", name: "ok" };
const busy: Tone = { shape: "■", name: "busy" };
const bad: Tone = { shape: "▲", name: "bad" };
const idle: Tone = { shape: "○", name: "idle" };
const drain: Tone = { shape: "◆", name: "drain" };

const tones: Readonly<Record<string, Tone>> = {
  running: ok,
  online: ok,
  ready: ok,
  success: ok,
  passing: ok,
  completed: ok,
  done: ok,
  live: ok,
  serving: ok,
  creating: busy,
  starting: busy,
  stopping: busy,
  restarting: busy,
  pausing: busy,
  resuming: busy,
  destroying: busy,
  preparing: busy,
  sending: busy,
  canceling: busy,
  incomplete: busy,
  queued: busy,
  building: busy,
  sealing: busy,
  freezing: busy,
  releasing: busy,
  checking: busy,
  switching: busy,
  deleting: busy,
  failed: bad,
  failure: bad,
  failing: bad,
  unreachable: bad,
  late: bad,
  offline: bad,
  lost: bad,
  rolled_back: bad,
  draining: drain,
  maintenance: drain,
};

export const toneOf = (status: string): Tone => tones[status] ?? idle;

export function StatusMark({ status }: { readonly status: string }) {
  const { shape, name } = toneOf(status);
  return (
    <span class="status">
      <span class={`shape tone-${name}`} aria-hidden="true">
        {shape}
      </span>
      {status}
    </span>
  );
}
