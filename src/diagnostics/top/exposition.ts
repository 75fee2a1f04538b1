// Parses the metrics of a gateway. https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples by metric name, including `_bucket`, `_sum` and `_count`, and then by the text of their labels. */
export type Exposition = ReadonlyMap<string, ReadonlyMap<string, Sample>>;

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Invalid lines are ignored. */
export function parseExposition(text: string): Exposition {
  const all = new Map<string, Map<string, Sample>>();
  for (const line of text.split("\n")) {
    const match = line.startsWith("#") ? null : LINE.exec(line);
    if (match === null) continue;
    const [, name = "", written = "", digits = ""] = match;
    const value = digits === "+Inf" ? Infinity : digits === "-Inf" ? -Infinity : Number(digits);
    const samples = all.getOrInsertComputed(name, () => new Map<string, Sample>());
    samples.set(written, {
      labels: Object.fromEntries([...written.matchAll(LABEL)].map(([, label, text_]) => [label!, unescaped(text_!)])),
      value,
    });
  }
  return all;
}

function unescaped(text: string): string {
  return text.includes("\\")
    ? text.replaceAll(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter))
    : text;
}
