// How a service is asked for its judgement of texts: pure translation. What a service finds are stretches of the texts,
// or whole texts where it names no stretch. Services that belong to a provider have their form in its folder.
import type { GuardPlace, GuardServiceOptions } from "../core/configured/outside-guard.ts";
import type { Json } from "../core/json.ts";
import type { Target } from "../core/target.ts";
import type { UpstreamRequest } from "../wire/upstream.ts";
import { isCount } from "./answers/token-count.ts";

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

/**
 * Returns the span of UTF-16 units for one of Unicode code points, as most services count. Throws NonsenseAnswer for
 * one that is not in the text, or empty.
 */
export function spanOfCodePoints(text: string, start: unknown, end: unknown): { start: number; end: number } {
  if (!isCount(start) || !isCount(end) || start >= end)
    throw new NonsenseAnswer("has a finding whose start and end are not whole numbers in their order");
  const units = [start, end].map((points) => unitsOf(text, points));
  if (units.includes(-1)) throw new NonsenseAnswer("has a finding outside of its text");
  return { start: units[0]!, end: units[1]! };
}

/** Returns -1 for a place behind the end. */
function unitsOf(text: string, points: number): number {
  let units = 0;
  for (let left = points; left > 0; left--) {
    const code = text.codePointAt(units);
    if (code === undefined) return -1;
    units += code > 0xffff ? 2 : 1;
  }
  return units;
}

/**
 * Returns the findings in the first text of a service that quotes what it found: each place where that stands, or the
 * whole text where it stands nowhere as it is quoted.
 */
export function quotedFindings(text: string, quoted: unknown, label: string): readonly ServiceFinding[] {
  if (typeof quoted !== "string" || quoted === "" || !text.includes(quoted)) return [wholeText(label)];
  const findings: ServiceFinding[] = [];
  for (let start = text.indexOf(quoted); start >= 0; start = text.indexOf(quoted, start + quoted.length))
    findings.push({ text: 0, span: { start, end: start + quoted.length }, label });
  return findings;
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
  const [base = "", query] = address.split("?", 2);
  const rest = query === undefined ? "" : `${path.includes("?") ? "&" : "?"}${query}`;
  return `${base.replace(/\/+$/, "")}${path}${rest}`;
}
