// Which files are text, by their declared type or name. Providers, and the gateway's own translation, read the bytes of
// such files as text, whatever they contain.

const TEXT_TYPE =
  /^(?:text\/|(?:application\/(?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|x-ndjson|sql)|[\w.-]+\/[\w.-]+\+(?:json|xml|yaml))\s*(?:;|$))/i;
const TEXT_NAME =
  /\.(?:txt|text|md|markdown|csv|tsv|json|jsonl|ndjson|xml|yaml|yml|toml|html?|svg|log|ini|css|[cm]?[jt]sx?|py|rb|go|rs|java|c|h|cpp|sh|sql|tex)$/i;

export function isTextType(mediaType: string): boolean {
  return TEXT_TYPE.test(mediaType.trimStart());
}

/** Judges by the extension of the name. */
export function isTextName(filename: string): boolean {
  return TEXT_NAME.test(filename);
}
