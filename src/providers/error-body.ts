// What all providers' errors have in common: what a status says by itself, bodies that are no JSON, pages of proxies in front, nothing at all. The time that
// is taken does not depend on what a body is made of.
import type { Json } from "../core/json.ts";
import { parseJson } from "../wire/json.ts";
import type { FailureClass } from "./provider.ts";

/** Patterns run over no more of an error's words than this: some of them take the square of a text's length. */
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

/** What a status says by itself; `own` is what one vendor means by further ones. Others: 4xx is the request's fault, the rest the server's. */
export function classOfStatus(status: number, own: StatusClasses = {}): FailureClass {
  return own[status] ?? BY_STATUS[status] ?? (status >= 400 && status < 500 ? "invalid_request" : "server");
}

/** Words of an error that say something; null for blanks and for what is no text. */
export function filled(value: Json | undefined): string | null {
  return typeof value === "string" && value.trim() !== "" ? value : null;
}

/** The body as JSON; undefined when it is none. */
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

/** A sentence for a body that says nothing by itself: the status, and the title of a page or the start of a text. */
export function describeErrorBody(status: number, body: string): string {
  const head = `The provider, or a proxy in front of it, answered with status ${status}`;
  const start = body.slice(0, 16_384).trim();
  if (start === "") return `${head} and an empty body.`;
  if (start.startsWith("<")) {
    const title = titleOf(start);
    if (title !== null) return `${head} and a web page titled ${JSON.stringify(title)}.`;
    const words = isWebPage(start) ? "" : oneLine(start.slice(0, MAX_QUOTE * 4).replaceAll(/<[^>]*>/g, " ")).trim();
    return words === "" ? `${head} and a web page instead of an answer.` : `${head}: ${words}`;
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

/** By search, not by a pattern: a page of ten thousand unfinished tags takes as long as any other. */
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
