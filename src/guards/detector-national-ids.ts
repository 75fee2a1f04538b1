// National identification numbers by country: the form in which they are written, and their check digits where they
// have some.

import { type Hint, HintSearch } from "./pattern-machine.ts";

export interface NationalIdForm {
  /** A pattern in RE2 syntax. */
  readonly pattern: string;
  /** Whether the match is a valid number. */
  readonly accepts: (match: string) => boolean;
  readonly hint: Hint;
  /**
   * Words that have to stand nearby when the number is bare digits and this kind was not asked for by name, because too
   * many other numbers pass the check.
   */
  readonly words?: RegExp;
}

/** This many digits, separated by no more than what is written between the digits of one number. */
export const SEVEN_DIGITS = new HintSearch(/\d(?:[ ./()+-]{0,3}\d){6}/, 25);
export const THIRTEEN_DIGITS = new HintSearch(/\d(?:[ ./()+-]{0,3}\d){12}/, 49);
const DIGITS: Hint = { search: new HintSearch(/\d(?:[ ./()+-]{0,3}\d){8}/, 33), lead: 0 };

export const digitsOf = (match: string): readonly number[] => Array.from(match.replaceAll(/\D/g, ""), Number);
const weighted = (digits: readonly number[], weights: readonly number[]): number =>
  weights.reduce((sum, weight, index) => sum + weight * digits[index]!, 0);

export const NATIONAL_IDS = {
  /**
   * Social security number: no area 000, 666 or 9xx, no group 00, no serial 0000.
   * https://www.ssa.gov/employer/randomization.html
   */
  us_ssn: {
    pattern: "\\b\\d{3}-\\d{2}-\\d{4}\\b",
    accepts: (match) => !/^(000|666|9)|-00-|-0000$/.test(match),
    hint: DIGITS,
  },
  /** National insurance number. https://www.gov.uk/hmrc-internal-manuals/national-insurance-manual/nim39110 */
  gb_nino: {
    pattern: "\\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\\d\\d ?\\d\\d ?\\d\\d ?[A-D]\\b",
    accepts: (match) => !/^(BG|GB|KN|NK|NT|TN|ZZ)/.test(match),
    hint: { search: new HintSearch(/[A-Z]{2} ?\d\d/, 5), lead: 0 },
  },
  /**
   * Tax identification number: ISO 7064 modulo 11, 10. Of the first ten digits, one occurs two or three times, and the
   * others at most once.
   */
  de_tax_id: {
    pattern: "\\b[1-9]\\d ?\\d{3} ?\\d{3} ?\\d{3}\\b",
    accepts: (match) => passesTaxId(digitsOf(match)),
    hint: DIGITS,
  },
  /** Number of the national register: the key is 97 minus the remainder of the first 13 digits; Corsica has letters. */
  fr_nir: {
    pattern: "\\b[12] ?\\d\\d ?\\d\\d ?(?:\\d\\d|2[AB]) ?\\d{3} ?\\d{3} ?\\d\\d\\b",
    accepts: passesNir,
    hint: { search: new HintSearch(/[12] ?\d\d ?\d\d ?\d[\dAB] ?\d/, 13), lead: 0 },
  },
  /** DNI and NIE: the letter is determined by the remainder modulo 23. */
  es_dni: {
    pattern: "\\b(?:\\d{8}|[XYZ]-?\\d{7})-?[A-HJ-NP-TV-Z]\\b",
    accepts: passesDni,
    hint: { search: new HintSearch(/\d{7}-?[A-Z]/, 9), lead: 2 },
  },
  /** Codice fiscale, without the variants for people who would have the same code. */
  it_codice_fiscale: {
    pattern: "\\b[A-Z]{6}\\d\\d[A-EHLMPRST]\\d\\d[A-Z]\\d{3}[A-Z]\\b",
    accepts: passesCodiceFiscale,
    hint: { search: new HintSearch(/[A-Z]{6}\d\d/, 8), lead: 0 },
  },
  /** Burgerservicenummer, with the eleven test. */
  nl_bsn: {
    pattern: "\\b\\d{9}\\b",
    accepts: (match) => weighted(digitsOf(match), [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0 && !/^0{3}/.test(match),
    hint: DIGITS,
    words: /bsn|burgerservice|sofi/i,
  },
  /** CPF, with two check digits modulo 11. */
  br_cpf: { pattern: "\\b\\d{3}\\.?\\d{3}\\.?\\d{3}-?\\d\\d\\b", accepts: passesCpf, hint: DIGITS },
  /** Aadhaar, with the Verhoeff check digit. */
  in_aadhaar: {
    pattern: "\\b[2-9]\\d{3} ?\\d{4} ?\\d{4}\\b",
    accepts: (match) => passesVerhoeff(digitsOf(match)),
    hint: DIGITS,
    words: /a+dha+r|uidai/i,
  },
  /** PESEL. */
  pl_pesel: { pattern: "\\b\\d{11}\\b", accepts: passesPesel, hint: DIGITS, words: /pesel/i },
  /**
   * Personnummer: a date, whose day is increased by 60 in a coordination number, and a Luhn check over the last ten
   * digits.
   */
  se_personnummer: {
    pattern: "\\b(?:19|20)?\\d{6}[-+]\\d{4}\\b",
    accepts: (match) => isDay(digitsOf(match).slice(-8)) && passesLuhn(digitsOf(match).slice(-10)),
    hint: DIGITS,
  },
  /** AHV number, with the EAN-13 check digit. */
  ch_ahv: {
    pattern: "\\b756\\.?\\d{4}\\.?\\d{4}\\.?\\d\\d\\b",
    accepts: (match) => weighted(digitsOf(match), [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 === 0,
    hint: DIGITS,
  },
} as const satisfies Readonly<Record<string, NationalIdForm>>;

export type NationalId = keyof typeof NATIONAL_IDS;
export const NATIONAL_ID_NAMES = Object.keys(NATIONAL_IDS) as readonly NationalId[];

/** Checks month and day. */
function isDay(digits: readonly number[]): boolean {
  const month = digits[0]! * 10 + digits[1]!;
  const day = (digits[2]! * 10 + digits[3]!) % 60;
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

export function passesLuhn(digits: readonly number[]): boolean {
  const sum = digits
    .toReversed()
    .reduce((total, digit, index) => total + (index % 2 === 0 ? digit : digit * 2 - (digit > 4 ? 9 : 0)), 0);
  return sum % 10 === 0;
}

function passesTaxId(digits: readonly number[]): boolean {
  const first = digits.slice(0, 10);
  const repeated = [...new Set(first)]
    .map((digit) => first.filter((other) => other === digit).length)
    .filter((times) => times > 1);
  return repeated.length === 1 && repeated[0]! <= 3 && passesMod11And10(digits);
}

function passesMod11And10(digits: readonly number[]): boolean {
  let rest = 10;
  for (const digit of digits.slice(0, -1)) {
    const sum = (digit + rest) % 10 || 10;
    rest = (sum * 2) % 11;
  }
  return (11 - rest) % 10 === digits.at(-1);
}

function passesNir(match: string): boolean {
  const text = match.replaceAll(" ", "").replace("2A", "19").replace("2B", "18");
  const month = Number(text.slice(3, 5));
  if (month === 0 || (month > 12 && month < 20)) return false;
  return 97 - (Number(text.slice(0, 13)) % 97) === Number(text.slice(13));
}

function passesDni(match: string): boolean {
  const text = match.replaceAll("-", "").replace(/^[XYZ]/, (letter) => String("XYZ".indexOf(letter)));
  return "TRWAGMYFPDXBNJZSQVHLCKE"[Number(text.slice(0, -1)) % 23] === text.at(-1);
}

/** By the decree of 23 December 1976: characters at odd positions count by this table. */
const ODD = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
function passesCodiceFiscale(match: string): boolean {
  const value = (letter: string): number => (letter >= "A" ? letter.charCodeAt(0) - 65 : Number(letter));
  const sum = Array.from(match.slice(0, 15)).reduce(
    (total, letter, index) => total + (index % 2 === 0 ? ODD[value(letter)]! : value(letter)),
    0,
  );
  return String.fromCharCode(65 + (sum % 26)) === match[15];
}

function passesCpf(match: string): boolean {
  const digits = digitsOf(match);
  if (digits.every((digit) => digit === digits[0])) return false;
  const check = (length: number): number => {
    const rest = digits.slice(0, length).reduce((sum, digit, index) => sum + digit * (length + 1 - index), 0) % 11;
    return rest < 2 ? 0 : 11 - rest;
  };
  return check(9) === digits[9] && check(10) === digits[10];
}

function passesPesel(match: string): boolean {
  const digits = digitsOf(match);
  const month = (digits[2]! * 10 + digits[3]!) % 20;
  const day = digits[4]! * 10 + digits[5]!;
  return (
    month >= 1 && month <= 12 && day >= 1 && day <= 31 && weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0
  );
}

const PERMUTED = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
/** Multiplication in the dihedral group D5. */
function product(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b - 5) % 5);
  return b < 5 ? 5 + ((a - 5 - b + 5) % 5) : (a - b + 5) % 5;
}
function passesVerhoeff(digits: readonly number[]): boolean {
  let check = 0;
  for (const [index, digit] of digits.toReversed().entries()) {
    let permuted = digit;
    for (let times = index % 8; times > 0; times--) permuted = PERMUTED[permuted]!;
    check = product(check, permuted);
  }
  return check === 0;
}
