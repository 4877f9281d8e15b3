// What a build prints, as it comes. The newest lines are kept, and drawn a few times a second however fast they come.

import { useSignal } from "@preact/signals";
import { SkerryConnectionError, type BuildLogLine } from "@skerry/sdk";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { skerry } from "../api.ts";
import { href, path, query } from "../router.ts";
import { noteFailure } from "../session.ts";
import { command, CopyAs } from "../ui/copy-as.tsx";
import { Failure } from "../ui/failure.tsx";
import { Panel } from "../ui/panel.tsx";
import { clockText, countText, printable } from "../ui/text.ts";

const KEPT_MAX = 5_000;
const DRAW_EVERY_MS = 250;
const AGAIN_AFTER_MS = 1_000;

export function BuildLog({ id }: { readonly id: string }) {
  const { lines, dropped, error, again } = useBuildLog(id);
  const step = query.value.get("step");
  const shown = step === null ? lines : lines.filter((line) => line.step === Number(step) - 1);
  return (
    <Panel
      title={step === null ? "Log" : `Log of step ${step}`}
      actions={
        <CopyAs
          of="the log"
          request={{
            method: "GET",
            path: `/v1/builds/${id}/logs?follow=true`,
            cli: `${command("skerry build logs", id)} --follow`,
            typescript: `for await (const { text } of skerry.builds.followLog(${JSON.stringify(id)})) console.log(text);`,
          }}
        />
      }
    >
      {step !== null && <a href={href(path.value)}>Of all steps</a>}
      {error !== undefined && <Failure error={error} retry={again} />}
      {dropped > 0 && <p class="help">{countText(dropped)} lines before these are left out here.</p>}
      <Lines lines={shown} />
    </Panel>
  );
}

/** As text: a step can have printed anything. It stays at its end as long as a person does not look further up. */
function Lines({ lines }: { readonly lines: readonly BuildLogLine[] }) {
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (isAtEnd.current) box.current?.scrollTo(0, box.current.scrollHeight);
  }, [lines]);
  return (
    <pre
      class="log"
      tabIndex={0}
      aria-label="Log"
      ref={box}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
        (isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 2)
      }
    >
      {lines.length === 0 ? "Nothing was printed yet." : lines.map(lineText).join("\n")}
    </pre>
  );
}

/** Its time, its step from 1, and what was printed. */
function lineText({ time, step, text }: BuildLogLine): string {
  return `${clockText(Date.parse(time))} ${(step === null ? "-" : String(step + 1)).padStart(3)}  ${printable(text)}`;
}

interface FollowedLog {
  readonly lines: readonly BuildLogLine[];
  readonly dropped: number;
  readonly error: unknown;
  readonly again: () => void;
}

function useBuildLog(id: string): FollowedLog {
  const kept = useSignal<{ readonly lines: readonly BuildLogLine[]; readonly dropped: number }>({
    lines: [],
    dropped: 0,
  });
  const error = useSignal<unknown>(undefined);
  const turn = useSignal(0);
  useEffect(() => {
    const stop = new AbortController();
    let pending: BuildLogLine[] = [];
    const draw = () => {
      if (pending.length === 0) return;
      const { lines, dropped } = kept.peek();
      const all = [...lines, ...pending];
      pending = [];
      const over = Math.max(0, all.length - KEPT_MAX);
      kept.value = { lines: all.slice(over), dropped: dropped + over };
    };
    const drawing = setInterval(draw, DRAW_EVERY_MS);
    kept.value = { lines: [], dropped: 0 };
    error.value = undefined;
    follow(id, (line) => pending.push(line), stop.signal)
      .catch((failure: unknown) => {
        if (stop.signal.aborted) return;
        error.value = failure;
        noteFailure(failure);
      })
      .finally(() => {
        clearInterval(drawing);
        if (!stop.signal.aborted) draw();
      });
    return () => stop.abort();
  }, [id, turn.value]);
  return { ...kept.value, error: error.value, again: () => void (turn.value += 1) };
}

/** To its end, over connections that break. */
async function follow(id: string, take: (line: BuildLogLine) => void, signal: AbortSignal): Promise<void> {
  let after = 0;
  for (;;) {
    try {
      for await (const line of skerry.builds.followLog(id, { after, signal })) {
        after = line.line;
        take(line);
      }
      return;
    } catch (error) {
      if (!(error instanceof SkerryConnectionError) || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS));
    }
  }
}
