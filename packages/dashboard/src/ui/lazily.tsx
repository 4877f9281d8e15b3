import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { loadPart } from "../load-part.ts";
import { Failure } from "./failure.tsx";
import { Loading } from "./page.tsx";

/** A part of a page that is loaded when it is first shown. */
export function lazily<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let known: ComponentType<Props> | undefined;
  return function Lazily(props: Props) {
    const loaded = useSignal(known);
    const error = useSignal<unknown>(undefined);
    useEffect(() => {
      if (known !== undefined) return;
      loadPart(load).then(
        (found) => {
          known = found;
          loaded.value = found;
        },
        (failure: unknown) => (error.value = failure),
      );
    }, []);
    if (error.value !== undefined) return <Failure error={error.value} retry={() => location.reload()} />;
    const Part = loaded.value;
    if (Part === undefined) return <Loading />;
    return <Part {...props} />;
  };
}
