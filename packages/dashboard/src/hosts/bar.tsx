interface BarProps {
  readonly name: string;
  readonly used: number;
  readonly of: number;
  readonly text: (value: number) => string;
}

export function Bar({ name, used, of, text }: BarProps) {
  return (
    <div class="bar">
      <span>{name}</span>
      <meter value={used} max={Math.max(of, 1)} high={of * 0.9} aria-label={name} />
      <span class="muted">
        {text(used)} of {text(of)}
      </span>
    </div>
  );
}
