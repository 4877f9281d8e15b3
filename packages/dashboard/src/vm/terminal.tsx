// A shell in the guest. The library writes style elements, which the page's rules refuse: it is given a document that makes style sheets of them.

import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { noteFailure } from "../session.ts";
import { Failure } from "../ui/failure.tsx";
import { documentOfSheets } from "./document-of-sheets.ts";
import type { VmKind } from "./vm-kind.ts";

type State =
  | { readonly at: "connecting" | "open" | "lost" }
  | { readonly at: "ended"; readonly code: number | undefined };

export function Terminal({ vm, id }: { readonly vm: VmKind; readonly id: string }) {
  const place = useRef<HTMLDivElement>(null);
  const state = useSignal<State>({ at: "connecting" });
  const error = useSignal<unknown>(undefined);
  const turn = useSignal(0);
  useEffect(() => {
    if (place.current === null) return undefined;
    const stop = new AbortController();
    error.value = undefined;
    state.value = { at: "connecting" };
    run(vm, id, { into: place.current, signal: stop.signal, tell: (now) => (state.value = now) }).catch(
      (failure: unknown) => {
        if (stop.signal.aborted) return;
        error.value = failure;
        noteFailure(failure);
      },
    );
    return () => stop.abort();
  }, [id, turn.value]);
  const again = () => (turn.value += 1);
  return (
    <section class="panel terminal" aria-label="Terminal">
      <p class="help" role="status">
        {wordsOf(state.value)}
        {state.value.at === "ended" && (
          <button type="button" onClick={again}>
            New shell
          </button>
        )}
      </p>
      {error.value !== undefined && <Failure error={error.value} retry={again} />}
      <div class="screen" ref={place} />
    </section>
  );
}

function wordsOf(state: State): string {
  if (state.at === "ended")
    return `The shell has ended${state.code === undefined ? "" : ` with exit code ${state.code}`}.`;
  if (state.at === "lost") return "The connection is lost; it is made again.";
  return state.at === "open" ? "A shell in the guest. Leaving the page ends it after 30 s." : "Connecting…";
}

interface Screen {
  readonly into: HTMLElement;
  readonly signal: AbortSignal;
  readonly tell: (state: State) => void;
}

async function run(vm: VmKind, id: string, { into, signal, tell }: Screen): Promise<void> {
  const style = getComputedStyle(into);
  const screen = new Xterm({
    documentOverride: documentOfSheets(document),
    screenReaderMode: true,
    fontFamily: style.fontFamily,
    fontSize: 13,
    theme: { background: style.backgroundColor, foreground: style.color, cursor: style.color },
  });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  screen.open(into);
  fit.fit();
  signal.addEventListener("abort", () => screen.dispose());
  const { cols, rows } = screen;
  const onConnection = (now: "lost" | "restored") => tell({ at: now === "lost" ? "lost" : "open" });
  const shell = await vm.calls.shell(id, { cols, rows, signal, onConnection });
  tell({ at: "open" });
  screen.focus();
  screen.onData((typed) => void shell.write(typed).catch(noteFailure));
  screen.onResize((size) => void shell.resize(size.cols, size.rows).catch(noteFailure));
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(into);
  signal.addEventListener("abort", () => resized.disconnect());
  for await (const { data } of shell) {
    // Read on when it is drawn, so that what prints without end waits in the guest and not here.
    await new Promise<void>((drawn) => screen.write(data, drawn));
  }
  tell({ at: "ended", code: shell.exitCode });
}
