// A choice between a few, all of which are shown.

interface SegmentsProps<Name extends string> {
  readonly label: string;
  /** What is shown of each. */
  readonly choices: Readonly<Record<Name, string>>;
  readonly chosen: string;
  readonly choose: (name: Name) => void;
  readonly isReadOnly?: boolean;
}

export function Segments<Name extends string>({
  label,
  choices,
  chosen,
  choose,
  isReadOnly = false,
}: SegmentsProps<Name>) {
  return (
    <span className="segments" role="group" aria-label={label}>
      {(Object.keys(choices) as Name[]).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === chosen}
          disabled={isReadOnly}
          onClick={() => choose(name)}
        >
          {choices[name]}
        </button>
      ))}
    </span>
  );
}
