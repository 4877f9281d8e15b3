import { useLoaded } from "../live/use-loaded.ts";
import type { ResourceOf } from "../live/resources.ts";
import { href } from "../router.ts";
import { Failure } from "../ui/failure.tsx";
import { Loading } from "../ui/page.tsx";
import { readBecause, type ExplainedKind } from "./read-because.ts";

export interface Subject<Kind extends ExplainedKind> {
  readonly kind: Kind;
  readonly of: ResourceOf<Kind>;
}

/** Read when it is shown, and again when what it is about has changed. */
export function Answer<Kind extends ExplainedKind>({ kind, of }: Subject<Kind>) {
  const { value, error } = useLoaded(`why ${"id" in of ? of.id : of.name} ${of.status}`, (signal) =>
    readBecause(kind, of, signal),
  );
  if (error !== undefined) return <Failure error={error} />;
  if (value === undefined) return <Loading />;
  return (
    <>
      <p>{value.text}</p>
      <ul class="leads">
        {value.leads.map(({ label, to }) => (
          <li key={label}>
            <a href={href(to)}>{label}</a>
          </li>
        ))}
      </ul>
    </>
  );
}
