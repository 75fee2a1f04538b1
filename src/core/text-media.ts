// Which files are texts, by what is said of them: their bytes are read as text by whoever gets them, the gateway's own translation included, whatever those bytes are.

const TEXT_TYPE =
  /^(?:text\/|(?:application\/(?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|x-ndjson|sql)|[\w.-]+\/[\w.-]+\+(?:json|xml|yaml))\s*(?:;|$))/i;
const TEXT_NAME =
  /\.(?:txt|text|md|markdown|csv|tsv|json|jsonl|ndjson|xml|yaml|yml|toml|html?|svg|log|ini|css|[cm]?[jt]sx?|py|rb|go|rs|java|c|h|cpp|sh|sql|tex)$/i;

export function isTextType(mediaType: string): boolean {
  return TEXT_TYPE.test(mediaType.trimStart());
}

/** By the ending of its name. */
export function isTextName(filename: string): boolean {
  return TEXT_NAME.test(filename);
}
