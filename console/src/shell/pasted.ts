// What a pasted text may name: an id of a call alone or within an error, a request as JSON or as a curl command, and what the list of calls can
// be searched for.
import { fragmentOf } from "../screens/play/share.ts";
import { pastedRequest } from "./pasted-request.ts";

export interface PastedPlace {
  readonly label: string;
  /** Below the scope. */
  readonly path: string;
}

const TRACE = /(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/g;
/** As vendors write ids of requests and answers in their errors. */
const VENDORS_ID = /(?<!\w)(?:req|request|chatcmpl|cmpl|msg|resp|gen)[_-][\w-]{6,}/g;
const MAX_EACH = 3;
const SHORTEST = 6;

/** The text of an access token. Only its id goes into the address of a page, never the secret behind it. */
const TOKEN_TEXT = /(?<!\w)dgm_[pu]t_([0-9A-Za-z]+)(?:_\w*)?/;

export function pastedPlaces(text: string): readonly PastedPlace[] {
  const request = pastedRequest(text);
  if (request !== null)
    return [
      { label: "Open this request in the playground", path: `/play${fragmentOf(JSON.stringify(request, null, 2))}` },
    ];
  const token = TOKEN_TEXT.exec(text)?.[1];
  if (token !== undefined) return ofToken(token);
  const traces = found(text.toLowerCase(), TRACE).map((trace) => ({
    label: `Open the call ${trace}`,
    path: `/calls/${trace}`,
  }));
  const word = text.trim();
  if (/\s/.test(word) || /[{"]/.test(word)) return [...traces, ...found(text, VENDORS_ID).map(byProvider)];
  if (traces.length > 0 || word.length < SHORTEST) return traces;
  return [search(`Calls with the client's request id ${word}`, "request", word), byProvider(word), ...ofToken(word)];
}

/** Where there is nothing to ask: the only place, or the only call among what else the text may name. */
export function theOnePlace(places: readonly PastedPlace[]): PastedPlace | null {
  const calls = places.filter(({ path }) => path.startsWith("/calls/"));
  const sure = calls.length > 0 ? calls : places;
  return sure.length === 1 ? sure[0]! : null;
}

function ofToken(id: string): readonly PastedPlace[] {
  return [
    { label: `Open the token ${id}`, path: `/tokens/${encodeURIComponent(id)}` },
    search(`Calls of the token ${id}`, "token", id),
  ];
}

function found(text: string, pattern: RegExp): readonly string[] {
  return [...new Set(text.match(pattern))].slice(0, MAX_EACH);
}

const byProvider = (id: string): PastedPlace => search(`Calls with the provider's request id ${id}`, "upstream", id);

function search(label: string, name: string, value: string): PastedPlace {
  return { label, path: `/calls?${new URLSearchParams({ q: `${name}:${value}`, range: "30d" }).toString()}` };
}
