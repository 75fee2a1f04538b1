// E-mail addresses: looked for from the `@`, because a pattern would have to begin anew at every letter. The form that addresses have in texts, without quoted
// local parts and comments. RFC 5321 section 4.5.3.1 for the bounds.
import type { Detector, DetectorRun, TextWindow } from "../core/policy.ts";
import { spend } from "./work-meter.ts";

/** What a look around an `@` takes, in steps of the machine. */
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
  /** Nothing before it is part of an address that is still to be found. */
  #from = 0;
  /** The search for `@` goes on here. */
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
      // it may go on, and so may what it is the beginning of
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

/** Where the local part before `at` begins. */
function localBefore(text: string, base: number, at: number, from: number): number {
  let start = at;
  while (start > from && start > base && at - start < MAX_LOCAL && isLocal(text.charCodeAt(start - 1 - base))) start--;
  return start;
}

/** No address begins with a dot: a sentence may have ended there. */
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

/** Length of what of it is a domain, which ends in a name of at least two letters; 0: nothing. */
function domainOf(text: string): number {
  const found = /^(?:[^.]+\.)+[^\d.-][^.]*[^.-]/.exec(text);
  // a picture for screens of twice the density: `logo@2x.png`
  return found === null || /^\dx\.[a-z]{3,4}$/i.test(found[0]) ? 0 : found[0].length;
}

function isWordCode(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code >= 0xc0;
}
function isLocal(code: number): boolean {
  // !#$%&'*+-./=?^_`{|}~ of RFC 5322 without what more often surrounds an address
  return isWordCode(code) || code === 0x2e || code === 0x5f || code === 0x2b || code === 0x2d || code === 0x25;
}
function isDomain(code: number): boolean {
  return isWordCode(code) || code === 0x2e || code === 0x2d;
}
