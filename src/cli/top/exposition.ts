// What a gateway tells Prometheus, read. https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples by the name in front of them, `_bucket`, `_sum` and `_count` included; then by their labels as they are written. */
export type Exposition = ReadonlyMap<string, ReadonlyMap<string, Sample>>;

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Lines that are none are left out. */
export function parseExposition(text: string): Exposition {
  const all = new Map<string, Map<string, Sample>>();
  for (const line of text.split("\n")) {
    const match = line.startsWith("#") ? null : LINE.exec(line);
    if (match === null) continue;
    const [, name = "", written = "", digits = ""] = match;
    const value = digits === "+Inf" ? Infinity : digits === "-Inf" ? -Infinity : Number(digits);
    let samples = all.get(name);
    if (samples === undefined) all.set(name, (samples = new Map<string, Sample>()));
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
