// `${NAME}` and `${NAME:-default}` in a text, from the environment, as a POSIX shell writes them; `$${` is a plain `${`. A variable that is
// set but empty counts as not set, which is what `:-` says and what `docker run -e NAME=` leaves behind.

export interface Expansion {
  readonly text: string;
  /** True when a variable or its default stands in the text now. */
  readonly expanded: boolean;
  /** What is wrong; it names variables and never their values. */
  readonly problems: readonly string[];
}

export interface Variables {
  get(name: string): string | undefined;
}

// Either an escape, or an opening brace with what follows up to the closing one.
const REFERENCE = /\$\$\{|\$\{([^}]*)(\})?/g;
const INSIDE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/;

export function expand(text: string, variables: Variables): Expansion {
  if (!text.includes("${")) return { text, expanded: false, problems: [] };
  const problems: string[] = [];
  let expanded = false;
  const result = text.replaceAll(REFERENCE, (whole: string, inside: string | undefined, closed: string | undefined) => {
    if (whole === "$${") return "${";
    const parts = closed === undefined ? null : INSIDE.exec(inside ?? "");
    if (parts === null || parts[2]?.includes("${") === true) {
      problems.push("expected ${NAME} or ${NAME:-default}; a plain ${ is written $${");
      return "";
    }
    const [, name = "", fallback] = parts;
    const value = variables.get(name) || fallback;
    if (value === undefined) problems.push(`the environment variable ${name} is not set`);
    expanded = true;
    return value ?? "";
  });
  return { text: result, expanded, problems };
}
