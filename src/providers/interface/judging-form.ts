// How a service is asked for its judgement of texts: pure translation. What a service finds are stretches of the texts,
// or whole texts where it names no stretch. Services that belong to a provider have their form in its folder.
import type { GuardPlace, GuardServiceOptions } from "../../core/configured/outside-guard.ts";
import type { Json } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";
import { isCount } from "../../core/record/token-count.ts";

export interface ServiceQuestion {
  readonly texts: readonly string[];
  readonly place: GuardPlace;
  /** The name of the policy. */
  readonly policy: string;
}

export interface ServiceFinding {
  /** The index of the text; `null` for all texts of the request. */
  readonly text: number | null;
  /** In UTF-16 units; `null` for the whole text. */
  readonly span: { readonly start: number; readonly end: number } | null;
  /** The service's own name for what it found, for the record. */
  readonly label: string;
}

/** `Address` is where the service is and what it is sent beside the texts. */
export interface ServiceForm<Address> {
  /** The page that describes the request and its answer. */
  readonly docs: string;
  /** The most texts of one request, and the most characters of all of them. A longer text is sent in overlapping parts. */
  readonly maxTexts: number;
  readonly maxCharacters: number;
  /** Throws GatewayError for settings with which the service cannot be asked. */
  encode(question: ServiceQuestion, address: Address, options: GuardServiceOptions): UpstreamRequest;
  /** `answer` is the body of an answer with a status of success. Throws NonsenseAnswer. */
  decode(answer: Json, texts: readonly string[], options: GuardServiceOptions): readonly ServiceFinding[];
}

/** A service at an address of its own. */
export interface ServiceAddress {
  readonly url: string;
  /** By lower-case name; they may hold credentials. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A service of a configured provider, which adds its credential to the request. */
export type ProviderForm = ServiceForm<Target>;

/** An answer that is none. The message completes "the service's answer". */
export class NonsenseAnswer extends Error {}

/** Why the findings of an answer are not used: their number, or the work to find their places. */
export const TOO_MANY_FINDINGS = "has more findings than can be used";
/** The most findings in the answer to one question. */
export const MAX_FINDINGS = 20_000;
/** The most characters in which quoted texts are looked for: some 50 ms. */
const MAX_LOOKED_THROUGH = 50_000_000;

/** Returns the span of UTF-16 units for one of Unicode code points. Throws NonsenseAnswer as `codePointSpans` says. */
export type CodePointSpan = (start: unknown, end: unknown) => { start: number; end: number };

/**
 * Returns what turns spans in the text from Unicode code points, as most services count, to UTF-16 units. It throws
 * NonsenseAnswer for one that is not in the text, or empty. A text with characters of two units is read once, however
 * many spans there are.
 */
export function codePointSpans(text: string): CodePointSpan {
  let places: Uint32Array | null | undefined;
  const unitsOf = (points: number): number => {
    if (places === undefined) places = SURROGATE.test(text) ? placesOf(text) : null;
    if (places === null) return points <= text.length ? points : -1;
    return places[points] ?? -1;
  };
  return (start, end) => {
    if (!isCount(start) || !isCount(end) || start >= end)
      throw new NonsenseAnswer("has a finding whose start and end are not whole numbers in their order");
    const units = [start, end].map(unitsOf);
    if (units.includes(-1)) throw new NonsenseAnswer("has a finding outside of its text");
    return { start: units[0]!, end: units[1]! };
  };
}

const SURROGATE = /[\ud800-\udfff]/;

/** Where each code point begins, and the end. */
function placesOf(text: string): Uint32Array {
  const places = new Uint32Array(text.length + 1);
  let count = 0;
  for (let units = 0; units < text.length; units += text.codePointAt(units)! > 0xffff ? 2 : 1) places[count++] = units;
  places[count++] = text.length;
  return places.subarray(0, count);
}

/**
 * Returns the findings in the first text of a service that quotes what it found: each place where that stands, or the
 * whole text where it stands nowhere as it is quoted. What is quoted again with the same label adds nothing.
 */
export type QuotedFindings = (quoted: unknown, label: string) => readonly ServiceFinding[];

/** For one answer. What it returns throws NonsenseAnswer for more findings than can be used. */
export function quotedIn(text: string): QuotedFindings {
  const seen = new Set<string>();
  let count = 0;
  let lookedThrough = 0;
  return (quoted, label) => {
    if (typeof quoted !== "string" || quoted === "") return [wholeText(label)];
    const key = `${label}\n${quoted}`;
    if (seen.has(key)) return [];
    seen.add(key);
    lookedThrough += text.length;
    if (lookedThrough > MAX_LOOKED_THROUGH) throw new NonsenseAnswer(TOO_MANY_FINDINGS);
    const findings: ServiceFinding[] = [];
    for (let start = text.indexOf(quoted); start >= 0; start = text.indexOf(quoted, start + quoted.length)) {
      if ((count += 1) > MAX_FINDINGS) throw new NonsenseAnswer(TOO_MANY_FINDINGS);
      findings.push({ text: 0, span: { start, end: start + quoted.length }, label });
    }
    return findings.length === 0 ? [wholeText(label)] : findings;
  };
}

/** The finding of a service that judges one text at a time, and says nothing of a place. */
export function wholeText(label: string): ServiceFinding {
  return { text: 0, span: null, label };
}

const LABEL = /^[\x20-\x7e]{1,64}$/;

/** The label as it is recorded; a text that could hold more than a name becomes `other`. */
export function labelOf(value: unknown): string {
  return typeof value === "string" && LABEL.test(value) ? value : "other";
}

export function jsonRequest(url: string, headers: Readonly<Record<string, string>>, body: unknown): UpstreamRequest {
  return {
    url,
    headers: { accept: "application/json", ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

/** Appends a path to an address, whose query stays at the end. */
export function pathUnder(address: string, path: string): string {
  const [base = "", ...query] = address.split("?");
  const rest = query.length === 0 ? "" : `${path.includes("?") ? "&" : "?"}${query.join("?")}`;
  return `${base.replace(/\/+$/, "")}${path}${rest}`;
}
