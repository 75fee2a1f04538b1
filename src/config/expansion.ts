// Expands `${NAME}` and `${NAME:-default}` in a text from the environment, as a POSIX shell does; `${file:/path}` is
// the content of a file, and `$${` is a plain `${`. A variable that is set but empty counts as not set, which is what
// `:-` means and what `docker run -e NAME=` leaves.

export interface Expansion {
  readonly text: string;
  /** True when the text contains the value of a variable, its default, or the content of a file. */
  readonly expanded: boolean;
  /** Problems name variables and files, never their content. */
  readonly problems: readonly string[];
}

export interface Variables {
  get(name: string): string | undefined;
}

/** Returns the content of a file, or a problem. */
export type ReadSecretFile = (path: string) => { readonly text: string } | { readonly problem: string };

// Matches an escape, or an opening brace with the text up to the closing one.
const REFERENCE = /\$\$\{|\$\{([^}]*)(\})?/g;
const INSIDE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/;
const FILE = "file:";

/** Returns the text of which `expand` makes this one, whatever stands in it. */
export function literalText(text: string): string {
  return text.replaceAll("${", () => "$${");
}

export function expand(text: string, variables: Variables, readFile: ReadSecretFile): Expansion {
  if (!text.includes("${")) return { text, expanded: false, problems: [] };
  const problems: string[] = [];
  let expanded = false;
  const result = text.replaceAll(REFERENCE, (whole: string, inside: string | undefined, closed: string | undefined) => {
    if (whole === "$${") return "${";
    if (closed !== undefined && inside?.startsWith(FILE) === true) {
      const read = readFile(inside.slice(FILE.length));
      if ("problem" in read) problems.push(read.problem);
      expanded = true;
      return "text" in read ? read.text : "";
    }
    const parts = closed === undefined ? null : INSIDE.exec(inside ?? "");
    if (parts === null || parts[2]?.includes("${") === true) {
      problems.push("expected ${NAME}, ${NAME:-default} or ${file:/path}; write a literal ${ as $${");
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
