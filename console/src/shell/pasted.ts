// What a pasted text may name: an id of a call alone or within an error, and what the list of calls can be searched for.
export interface PastedPlace {
  readonly label: string;
  /** Below the scope. */
  readonly path: string;
}

const TRACE = /(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/g;
const MAX_TRACES = 3;

export function pastedPlaces(text: string): readonly PastedPlace[] {
  const traces = [...new Set(text.toLowerCase().match(TRACE))].slice(0, MAX_TRACES);
  const calls = traces.map((trace) => ({ label: `Open the call ${trace}`, path: `/calls/${trace}` }));
  const word = text.trim();
  if (calls.length > 0 || word.length < 6 || /\s/.test(word)) return calls;
  const search = (label: string, term: string): PastedPlace => ({
    label,
    path: `/calls?${new URLSearchParams({ q: `${term}:${word}`, range: "30d" }).toString()}`,
  });
  return [
    search(`Calls with the client's request id ${word}`, "request"),
    search(`Calls of the token ${word}`, "token"),
  ];
}
