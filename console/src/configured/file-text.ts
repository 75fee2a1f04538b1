// A document as it stands in the configuration file: below the keys of its place, with its comments.
export function fileText(place: readonly string[], text: string): string {
  const keys = place.map((key, depth) => `${"  ".repeat(depth)}${written(key)}:`);
  const indent = "  ".repeat(place.length);
  const lines = text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => (line === "" ? "" : indent + line));
  return `${[...keys, ...lines].join("\n")}\n`;
}

const written = (key: string): string => (/^[A-Za-z_][\w-]*$/.test(key) ? key : JSON.stringify(key));
