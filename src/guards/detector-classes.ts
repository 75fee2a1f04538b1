// The classes of personal data and secrets that a guard knows by name. Each is a pattern with the check digit of its
// kind of number, where there is one: the right number of digits does not suffice.

// Decides (the answer): Which classes of data can guards find? By: `DETECTOR_CLASSES`, `DETECTORS`. Rule: E-mail
// addresses, phone numbers, cards, IBANs, national ids and secrets; where a kind of number has a check digit, it must
// be right.
import { lazy, memoizeBounded } from "../core/memoization.ts";
import type { Detector } from "../core/configured/policy.ts";
import { emailDetector } from "./detector-email.ts";
import {
  digitsOf,
  NATIONAL_ID_NAMES,
  NATIONAL_IDS,
  type NationalId,
  type NationalIdForm,
  passesLuhn,
  SEVEN_DIGITS,
  THIRTEEN_DIGITS,
} from "./detector-national-ids.ts";
import { HintSearch, type PatternDetector, patternDetector } from "./pattern-machine.ts";
import { compilePattern } from "./pattern-program.ts";

export const DETECTOR_CLASSES = ["email", "phone", "card", "iban", "national_id", "secret"] as const;
export type DetectorClass = (typeof DETECTOR_CLASSES)[number];

const MAX_LENGTH = 128;

/**
 * `countries` selects national ids. When it is empty, all known ones are selected, and digits count only near a word
 * that says what they are.
 */
export function detectorsOf(name: DetectorClass, countries: readonly NationalId[]): readonly Detector[] {
  if (name === "email") return [emailDetector];
  if (name !== "national_id") return [DETECTORS[name]()];
  const chosen = countries.length > 0;
  return (chosen ? countries : NATIONAL_ID_NAMES).map((country) => nationalId({ country, chosen }));
}

interface ChosenId {
  readonly country: NationalId;
  readonly chosen: boolean;
}

const MAX_NATIONAL_IDS = 2 * NATIONAL_ID_NAMES.length;
const sourceOf = ({ country, chosen }: ChosenId): string => `national_id ${country} ${chosen ? "named" : "any"}`;
/** A program is compiled when the first policy needs it. */
const nationalId = memoizeBounded(
  MAX_NATIONAL_IDS,
  (id: ChosenId) => nationalDetector(NATIONAL_IDS[id.country], id.chosen, sourceOf(id)),
  sourceOf,
);

/** The detector of this source; `null` when the source names no class. */
export function classDetectorOf(source: string): Detector | null {
  const [kind, name, chosen] = source.split(" ");
  if (kind === "national_id" && Object.hasOwn(NATIONAL_IDS, name!))
    return nationalId({ country: name as NationalId, chosen: chosen === "named" });
  return kind === "class" && DETECTOR_CLASSES.some((known) => known === name && known !== "national_id")
    ? detectorsOf(name as DetectorClass, [])[0]!
    : null;
}

/** The match is part of a longer sequence of letters and digits, such as a UUID, or follows a decimal point. */
const INSIDE = /\w*\d\w*[-+/]$|\b[0-9a-f]{4,}-$|\d\.$/;
const GOES_ON = "(?:[-+/]\\w|\\.\\d)?";
const FURTHER = /(?:[-+/]\w|\.\d)$/;

function nationalDetector(
  { pattern, accepts, hint, words }: NationalIdForm,
  chosen: boolean,
  source: string,
): Detector {
  const goesOn = (match: string): boolean => FURTHER.test(match) && !full.test(match);
  const full = new RegExp(`^(?:${pattern})$`);
  const isOne = (match: string, before: string): boolean =>
    !INSIDE.test(before) &&
    !goesOn(match) &&
    accepts(match) &&
    (chosen || words === undefined || /\D/.test(match) || words.test(before));
  return classDetector({
    source,
    mask: "[national id]",
    program: compilePattern(`(?:${pattern})${GOES_ON}`),
    hint,
    accept: (match, before) => (isOne(match, before) ? match.length : 0),
  });
}

function classDetector(
  options: Omit<PatternDetector, "folds" | "maxLength"> & { readonly maxLength?: number },
): Detector {
  return patternDetector({ maxLength: MAX_LENGTH, work: WORK, ...options, folds: true });
}

/**
 * The worst-case cost of groups of digits that could all be cards, accounts or national ids (measured by
 * bench/drills/patterns.ts).
 */
const WORK = 60;

/** Keys can be long: a private key of 4,096 bits in PEM has 3,300 characters. */
const MAX_SECRET = 16_384;

const DETECTORS = {
  card: lazy(() =>
    classDetector({
      source: "class card",
      mask: "[card]",
      program: compilePattern("\\b[2-6](?:[ .-]?\\d){12,18}\\b(?:\\.\\d)?"),
      hint: { search: THIRTEEN_DIGITS, lead: 0 },
      accept: cardIn,
    }),
  ),
  iban: lazy(() =>
    classDetector({
      source: "class iban",
      mask: "[iban]",
      program: compilePattern("\\b[A-Za-z]{2}\\d\\d(?: ?[A-Za-z0-9]){11,30}\\b"),
      hint: { search: new HintSearch(/[A-Za-z]{2}\d\d/, 4), lead: 0 },
      accept: ibanIn,
    }),
  ),
  phone: lazy(() =>
    classDetector({
      source: "class phone",
      mask: "[phone]",
      program: compilePattern(`(?:${PHONE})(?:[-.]\\d)?`),
      hint: { search: SEVEN_DIGITS, lead: 1 },
      accept: phoneIn,
    }),
  ),
  secret: lazy(() =>
    classDetector({
      source: "class secret",
      mask: "[secret]",
      program: compilePattern(SECRET),
      hint: {
        search: new HintSearch(
          /dgm_|[sr]k[-_]|gh[oprsu]_|github_pat_|glpat-|AKIA|ASIA|AIza|xox|hf_|npm_|eyJ|-----BEGIN/,
          11,
        ),
        lead: 0,
      },
      maxLength: MAX_SECRET,
      accept: secretIn,
    }),
  ),
} as const;

/** With a country code (E.164), or in the North American form, or with the trunk prefix 0 and a separator. */
const PHONE =
  "(?:\\+|\\b00 ?)[1-9](?:[ ./-]?\\(?\\d\\)?){6,14}\\b|(?:\\b1[ .-])?\\(?\\b[2-9]\\d\\d\\)?[ .-] ?[2-9]\\d\\d[ .-]\\d{4}\\b|\\(?\\b0[1-9]\\d{1,4}\\)?[ /-]\\d(?:[ -]?\\d){4,9}\\b";

/**
 * Keys with the prefixes that their issuers publish for secret scanners, and our own; tokens in three parts (JWT);
 * private keys in PEM.
 */
const SECRET = [
  "\\bdgm_[pu]t_[A-Za-z0-9]{4,}_[A-Za-z0-9]{20,}\\b",
  "\\bsk-[A-Za-z0-9_-]{20,}",
  "\\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}\\b",
  "\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b",
  "\\bAIza[A-Za-z0-9_-]{35}",
  "\\bgh[oprsu]_[A-Za-z0-9]{30,}\\b",
  "\\bgithub_pat_[A-Za-z0-9_]{22,}\\b",
  "\\bglpat-[A-Za-z0-9_-]{20,}",
  "\\bxox[abeprs]-[A-Za-z0-9-]{10,}",
  "\\bhf_[A-Za-z0-9]{30,}\\b",
  "\\bnpm_[A-Za-z0-9]{36}\\b",
  "\\beyJ[A-Za-z0-9_-]{8,}\\.eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}",
  "-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=:,.\\s\\\\-]*",
].join("|");

/** Class names in stylesheets begin with `sk-` as well, but a key contains digits. */
function secretIn(match: string): number {
  return match.startsWith("sk-") && match.replaceAll(/\D/g, "").length < 2 ? 0 : match.length;
}

/**
 * ISO/IEC 7812: the check digit over 13 to 19 digits, in a number range that cards have. A longer sequence of groups
 * may begin with a card.
 */
function cardIn(match: string, before: string): number {
  if (/\d\.$/.test(before)) return 0;
  const end = longestPrefix(
    match,
    (digits) =>
      digits.length >= 13 &&
      digits.length <= 19 &&
      isIssued(digits) &&
      !isRepeated(digits) &&
      passesLuhn(digitsOf(digits)),
  );
  const found = match.slice(0, end);
  return isGrouped(found) ? end : 0;
}

/** Few card ranges begin with 2, and many dates do. */
function isIssued(digits: string): boolean {
  return (
    digits[0] !== "2" || (digits.length >= 16 && /^2(?:20[0-4]|22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)/.test(digits))
  );
}

/**
 * Groups of three to six digits, or single digits; with dots, groups of four. Other groupings are lists, ids and
 * decimal numbers.
 */
function isGrouped(card: string): boolean {
  if (card.includes(".")) return /^\d{4}(?:\.\d{4}){3}$|^\d{4}\.\d{6}\.\d{5}$/.test(card);
  // Two groups may look like one when an invisible character separates them.
  if (/^(?:(?:\d{4}){1,3} )+(?:\d{4}){1,3}$/.test(card) && /\b\d{4}\b/.test(card)) return true;
  return /^(?:\d+|\d(?:[ -]\d)+|\d{3,6}(?:[ -]\d{3,6})+)$/.test(card);
}

function isRepeated(digits: string): boolean {
  return digits === digits[0]!.repeat(digits.length);
}

/** The length of the longest prefix, ending at a separator, whose letters and digits are accepted. */
function longestPrefix(match: string, accepts: (word: string) => boolean): number {
  const all = match.replaceAll(/[^A-Za-z0-9]/g, "");
  let length = all.length;
  for (let end = match.length; length > 0; end--) {
    const isEnd = end === match.length || !isLetterOrDigit(match.charCodeAt(end));
    if (isEnd && accepts(all.slice(0, length))) return end;
    if (isLetterOrDigit(match.charCodeAt(end - 1))) length--;
  }
  return 0;
}

function isLetterOrDigit(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

/** ISO 13616: length by country (SWIFT IBAN registry), check digits by ISO 7064 modulo 97. */
function ibanIn(match: string): number {
  return longestPrefix(match, (word) => {
    const country = word.slice(0, 2).toUpperCase();
    return IBAN_LENGTHS[country] === word.length && remainder(word.slice(4) + word.slice(0, 4)) === 1;
  });
}

function remainder(text: string): number {
  let rest = 0;
  for (const letter of text) {
    const value = Number.parseInt(letter, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest;
}

const IBAN_LENGTHS: Readonly<Record<string, number>> = {
  AD: 24,
  AE: 23,
  AL: 28,
  AT: 20,
  AZ: 28,
  BA: 20,
  BE: 16,
  BG: 22,
  BH: 22,
  BI: 27,
  BR: 29,
  BY: 28,
  CH: 21,
  CR: 22,
  CY: 28,
  CZ: 24,
  DE: 22,
  DJ: 27,
  DK: 18,
  DO: 28,
  EE: 20,
  EG: 29,
  ES: 24,
  FI: 18,
  FK: 18,
  FO: 18,
  FR: 27,
  GB: 22,
  GE: 22,
  GI: 23,
  GL: 18,
  GR: 27,
  GT: 28,
  HN: 28,
  HR: 21,
  HU: 28,
  IE: 22,
  IL: 23,
  IQ: 23,
  IS: 26,
  IT: 27,
  JO: 30,
  KW: 30,
  KZ: 20,
  LB: 28,
  LC: 32,
  LI: 21,
  LT: 20,
  LU: 20,
  LV: 21,
  LY: 25,
  MC: 27,
  MD: 24,
  ME: 22,
  MK: 19,
  MN: 20,
  MR: 27,
  MT: 31,
  MU: 30,
  NI: 28,
  NL: 18,
  NO: 15,
  OM: 23,
  PK: 24,
  PL: 28,
  PS: 29,
  PT: 25,
  QA: 29,
  RO: 24,
  RS: 22,
  RU: 33,
  SA: 24,
  SC: 31,
  SD: 18,
  SE: 24,
  SI: 19,
  SK: 24,
  SM: 27,
  SO: 23,
  ST: 25,
  SV: 28,
  TL: 23,
  TN: 24,
  TR: 26,
  UA: 29,
  VA: 22,
  VG: 24,
  XK: 20,
  YE: 30,
};

/** E.164: 8 to 15 digits with the country code. */
function phoneIn(match: string, before: string): number {
  const digits = match.replaceAll(/\D/g, "").length;
  if (match.startsWith("+"))
    return digits >= 8 && digits <= 16 && !/[\w)]$/.test(before) && !/^\+\d+\.\d+$/.test(match) ? match.length : 0;
  if (INSIDE.test(before) || /^00\d{6}-\d{4}/.test(match)) return 0;
  // These are groups of an account number.
  if (/^\(?0/.test(match) && /\w $/.test(before) && /\d\w* $/.test(before)) return 0;
  if (match.startsWith("00"))
    return digits <= 17 && (/^\d+$/.test(match) ? digits >= 12 : /\D\d{3,}/.test(match)) ? match.length : 0;
  return digits >= 7 && digits <= 17 ? match.length : 0;
}
