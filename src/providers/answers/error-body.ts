// What the errors of all providers have in common: what a status means by itself, bodies that are not JSON, pages of
// proxies in front of the provider, and empty bodies. The time that this takes does not depend on the content of a
// body.
import type { Json } from "../../core/json.ts";
import { parseJson } from "../../wire/json/json.ts";
import type { FailureClass } from "../interface/upstream-failure.ts";

/**
 * Patterns run over at most this many characters of an error message, because some take time quadratic in the text's
 * length.
 */
export const JUDGED_CHARACTERS = 4_096;
const MAX_QUOTE = 300;
const MAX_TITLE = 200;

export type StatusClasses = Readonly<Record<number, FailureClass>>;

const BY_STATUS: StatusClasses = {
  401: "authentication",
  402: "quota",
  403: "permission",
  404: "not_found",
  408: "timeout",
  429: "rate_limit",
  503: "overloaded",
  504: "timeout",
  529: "overloaded",
};

/**
 * The class that a status means by itself. `own` holds the further statuses of one vendor. Any other 4xx status is the
 * request's fault, and all remaining ones are the server's.
 */
export function classOfStatus(status: number, own: StatusClasses = {}): FailureClass {
  return own[status] ?? BY_STATUS[status] ?? (status >= 400 && status < 500 ? "invalid_request" : "server");
}

/** An error message that is not blank. `null` for blank texts and for values that are not strings. */
export function filled(value: Json | undefined): string | null {
  return typeof value === "string" && value.trim() !== "" ? value : null;
}

/** The body as JSON, or undefined when it is not JSON. */
export function readErrorJson(body: string): Json | undefined {
  try {
    return parseJson(body);
  } catch {
    return undefined;
  }
}

export function isWebPage(text: string): boolean {
  return /^\s{0,256}<(!doctype|html|head|body|\?xml)/i.test(text.slice(0, 512));
}

/**
 * A sentence for a body without an error message: it gives the status, and the title of a page or the start of a text.
 */
export function describeErrorBody(status: number, body: string): string {
  const head = `The provider, or a proxy in front of it, answered with status ${status}`;
  const start = body.slice(0, 16_384).trim();
  if (start === "") return `${head} and an empty body.`;
  if (start.startsWith("<")) {
    const title = titleOf(start);
    if (title !== null) return `${head} and a web page titled ${JSON.stringify(title)}.`;
    const message = isWebPage(start) ? "" : oneLine(start.slice(0, MAX_QUOTE * 4).replaceAll(/<[^>]*>/g, " ")).trim();
    return message === "" ? `${head} and a web page instead of an answer.` : `${head}: ${message}`;
  }
  if (readErrorJson(body) !== undefined) return `${head} and no message: ${oneLine(start)}`;
  return `${head}: ${oneLine(start)}`;
}

function oneLine(text: string): string {
  return text
    .slice(0, MAX_QUOTE * 4)
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .slice(0, MAX_QUOTE);
}

/**
 * Uses searches in place of a pattern, so that a page of ten thousand unfinished tags takes no longer than any other.
 */
function titleOf(page: string): string | null {
  const lower = page.toLowerCase();
  for (const tag of ["<title", "<h1"]) {
    const opening = lower.indexOf(tag);
    const begins = opening < 0 ? -1 : lower.indexOf(">", opening);
    const ends = begins < 0 ? -1 : lower.indexOf("<", begins);
    if (ends < 0) continue;
    const title = page.slice(begins + 1, ends).trim();
    if (title !== "") return oneLine(title).slice(0, MAX_TITLE);
  }
  return null;
}
