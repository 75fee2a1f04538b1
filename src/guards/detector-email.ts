// Detects e-mail addresses. The search starts at the `@`, because a pattern would have to start at every letter. It
// covers the form that addresses have in running text, without quoted local parts and comments. RFC 5321 section
// 4.5.3.1 defines the bounds.
import type { Detector, DetectorRun, TextWindow } from "../core/configured/policy.ts";
import { spend } from "./work-meter.ts";

/** The cost of checking the surroundings of one `@`, in steps of the pattern machine. */
const STEPS = 64;
const MAX_LOCAL = 64;
const MAX_DOMAIN = 255;

export const emailDetector: Detector = {
  mask: "[email]",
  folds: true,
  source: "class email",
  work: 8,
  isReady: true,
  open: () => new EmailRun(),
};

class EmailRun implements DetectorRun {
  /** No address that is still to be found includes text before this position. */
  #from = 0;
  /** The search for `@` continues here. */
  #at = 0;

  advance({ text, base, limit, isEnd }: TextWindow, found: (start: number, end: number) => void): number {
    for (;;) {
      const index = text.indexOf("@", this.#at - base);
      const at = index < 0 ? limit : base + index;
      if (at >= limit) {
        this.#at = limit;
        return isEnd ? limit : localBefore(text, base, limit, this.#from);
      }
      spend(STEPS);
      const start = localBefore(text, base, at, this.#from);
      const end = domainEnd(text, base, at + 1, limit);
      // The domain may continue in the next piece, and so may an address that begins here.
      if (end === limit && !isEnd && end - at <= MAX_DOMAIN) {
        this.#at = at;
        return start;
      }
      const domain = domainOf(text.slice(at + 1 - base, end - base));
      const begun = firstOfLocal(text, base, start, at);
      if (begun < at && domain > 0) {
        this.#from = at + 1 + domain;
        found(begun, this.#from);
      }
      this.#at = Math.max(at + 1, this.#from);
    }
  }
}

/** The position at which the local part before `at` begins. */
function localBefore(text: string, base: number, at: number, from: number): number {
  let start = at;
  while (start > from && start > base && at - start < MAX_LOCAL && isLocal(text.charCodeAt(start - 1 - base))) start--;
  return start;
}

/** An address never begins with a dot: a sentence may have ended there. */
function firstOfLocal(text: string, base: number, start: number, at: number): number {
  let first = start;
  while (first < at && text.charCodeAt(first - base) === 0x2e) first++;
  return first;
}

function domainEnd(text: string, base: number, from: number, limit: number): number {
  let end = from;
  while (end < limit && end - from < MAX_DOMAIN && isDomain(text.charCodeAt(end - base))) end++;
  return end;
}

/** The length of the part that is a domain, which ends in a name of at least two letters; 0 when there is none. */
function domainOf(text: string): number {
  const found = /^(?:[^.]+\.)+[^\d.-][^.]*[^.-]/.exec(text);
  // This is the name of an image for screens of double density: `logo@2x.png`.
  return found === null || /^\dx\.[a-z]{3,4}$/i.test(found[0]) ? 0 : found[0].length;
}

function isWordCode(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code >= 0xc0;
}
function isLocal(code: number): boolean {
  // !#$%&'*+-./=?^_`{|}~ of RFC 5322 without the characters that more often surround an address.
  return isWordCode(code) || code === 0x2e || code === 0x5f || code === 0x2b || code === 0x2d || code === 0x25;
}
function isDomain(code: number): boolean {
  return isWordCode(code) || code === 0x2e || code === 0x2d;
}
