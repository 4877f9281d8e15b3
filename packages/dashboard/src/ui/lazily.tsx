import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Failure } from "./failure.tsx";
import { Loading } from "./page.tsx";

/** A part of a page that is loaded when it is first shown. */
export function lazily<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazily(props: Props) {
    const turn = useSignal(0);
    const error = useSignal<unknown>(undefined);
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (found) => {
          loaded = found;
          turn.value += 1;
        },
        (failure: unknown) => (error.value = failure),
      );
    }, []);
    if (error.value !== undefined) return <Failure error={error.value} retry={() => location.reload()} />;
    if (loaded === undefined || turn.value < 0) return <Loading />;
    const Part = loaded;
    return <Part {...props} />;
  };
}
