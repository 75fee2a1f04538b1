// A problem of a configuration, with what an editor needs to jump to it: file, line, column, key, and what was
// expected. A problem never contains a value from the file, because it may be a secret.

export interface ConfigurationProblem {
  /** The file as it was named, or another source of the value: `environment`, `command line`. */
  readonly file: string;
  /** Counted from 1; `null` when there is no line, as for the whole file or a variable. */
  readonly line: number | null;
  readonly column: number | null;
  /** Keys joined by dots, indexes in brackets: `providers.openai.models[2].id`. Empty for the whole file. */
  readonly path: string;
  readonly message: string;
}

/** A problem of a whole file, or of something in a source that has no lines. */
export const problemIn = (file: string, message: string, path = ""): ConfigurationProblem => ({
  file,
  line: null,
  column: null,
  path,
  message,
});

/** One mistake can confuse a parser for the rest of a file, and only the first problems are useful. */
export const MAX_PROBLEMS = 50;

/** Thrown when a configuration cannot be used. Its message has one line for each problem. */
export class ConfigurationError extends Error {
  readonly problems: readonly ConfigurationProblem[];
  constructor(problems: readonly ConfigurationProblem[]) {
    super(problems.map(formatProblem).join("\n"));
    this.name = "ConfigurationError";
    this.problems = problems;
  }
}

/** `dragoman.yaml:7:5 providers.openai.api_key: expected string, got number`. */
export function formatProblem({ file, line, column, path, message }: ConfigurationProblem): string {
  const place = line === null ? file : `${file}:${line}:${column ?? 1}`;
  return path === "" ? `${place}: ${message}` : `${place} ${path}: ${message}`;
}

export type Path = readonly (string | number)[];

/** What is wrong with a value and where in it, wherever the value came from. */
export interface Finding {
  readonly path: Path;
  readonly message: string;
}

/**
 * A key that is not a plain word may be a mistyped secret (`api_key:sk-...` without a space is one key), so only its
 * plain beginning is shown.
 */
export function formatKey(key: string): string {
  const plain = /^[A-Za-z0-9_.-]{0,40}/.exec(key)![0];
  return plain.length === key.length || key.length <= 3 ? key : `${plain}...`;
}

export function formatPath(path: Path, shown = formatKey): string {
  let text = "";
  for (const step of path) text += typeof step === "number" ? `[${step}]` : `${text === "" ? "" : "."}${shown(step)}`;
  return text;
}
