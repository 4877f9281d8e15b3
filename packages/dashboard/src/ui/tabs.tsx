import { href } from "../router.ts";

interface TabsProps {
  readonly label: string;
  /** Path of the page; the first tab is there, each other one below it. */
  readonly at: string;
  readonly names: readonly string[];
  readonly chosen: string;
}

/** Parts of a page, each with an address of its own. */
export function Tabs({ label, at, names, chosen }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
      {names.map((name, index) => (
        <a
          key={name}
          href={href(index === 0 ? at : `${at}/${name.toLowerCase()}`)}
          {...(name.toLowerCase() === chosen ? { "aria-current": "page" as const } : {})}
        >
          {name}
        </a>
      ))}
    </nav>
  );
}
