import { Copy } from "./copy.tsx";

/** What is shown once. The page forgets it with the component that shows it. */
export function Secret({
  text,
  label,
  help,
}: {
  readonly text: string;
  readonly label: string;
  readonly help: string;
}) {
  return (
    <div class="secret" role="status">
      <p>
        <strong>{label}</strong> <Copy text={text} label={label} />
      </p>
      <code>{text}</code>
      <p class="help">{help}</p>
    </div>
  );
}
