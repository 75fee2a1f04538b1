// The request in a pasted text: JSON with a conversation, or a curl command that sends one.
type JsonObject = { readonly [name: string]: unknown };

const DATA_OPTIONS = new Set(["-d", "--data", "--data-raw", "--data-binary", "--json"]);

/** Null where there is none. */
export function pastedRequest(text: string): JsonObject | null {
  const trimmed = text.trim();
  if (trimmed.startsWith("{")) return conversationIn(trimmed);
  if (!trimmed.startsWith("curl ")) return null;
  const words = shellWords(trimmed);
  for (const [at, word] of words.entries()) {
    const value = DATA_OPTIONS.has(word)
      ? words[at + 1]
      : /^(?:-d|--(?:data|data-raw|data-binary|json)=)(.+)$/s.exec(word)?.[1];
    const body = value === undefined ? null : conversationIn(value);
    if (body !== null) return body;
  }
  return null;
}

function conversationIn(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && Array.isArray((value as JsonObject)["messages"])
      ? (value as JsonObject)
      : null;
  } catch {
    return null;
  }
}

/** As a POSIX shell divides a line, without expansions. A field of one line has lost the line ends, and keeps the backslashes before them. */
export function shellWords(line: string): readonly string[] {
  return (line.match(/(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\\S|[^\s'"\\])+/gs) ?? []).map((word) =>
    word.replaceAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs, (_, single, double, escaped) =>
      single !== undefined
        ? (single as string)
        : double !== undefined
          ? (double as string).replaceAll(/\\(["\\$`])/g, "$1")
          : (escaped as string),
    ),
  );
}
