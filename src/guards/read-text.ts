// A text in the form in which detectors read it; each unit keeps its position in the text as it was written. In JSON,
// escapes are decoded. Characters of no width are skipped, and compatibility forms are read as what they stand for
// (NFKC, https://www.unicode.org/reports/tr15/): of each character or, for patterns with letters beyond ASCII, of each
// character with the marks behind it. For classes of data, digits and dashes of other scripts are read as ASCII as well.
import { memoizeBounded } from "../core/memoization.ts";
import type { TextWindow } from "../core/configured/policy.ts";
import { spend } from "./work-meter.ts";

export interface Reading {
  /** The text is JSON. */
  readonly isJson: boolean;
  /**
   * `ascii`: for classes. `compatible`: for patterns. `composed`: for patterns that may ask for a character which can be
   * written as several; the last character that has come waits for the marks that may follow. `written`: nothing is folded.
   */
  readonly form: "ascii" | "compatible" | "composed" | "written";
}

/** What it costs to read a unit of a text that is read otherwise than it was written, in steps. */
const STEPS_OF_UNIT = 6;
const UNUSUAL = /[\x80-\uffff]/;
const NO_WIDTH = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

export class ReadText implements TextWindow {
  text = "";
  base = 0;
  limit = 0;
  isEnd = false;
  readonly #isJson: boolean;
  readonly #form: Reading["form"];
  /** Where each unit of `text` begins and ends in the written text; `null` while both texts are identical. */
  #starts: number[] | null = null;
  #ends: number[] = [];
  /** How far the written text has been read. */
  #at = 0;

  constructor({ isJson, form }: Reading) {
    this.#isJson = isJson;
    this.#form = form;
  }

  /** Whether the text up to now is read otherwise than it was written, or may be when it goes on. */
  get differs(): boolean {
    return this.#starts !== null || this.#form === "composed";
  }

  /** Reads on in the written text, which may contain more than is to be read now. */
  read({ text, base, limit, isEnd }: TextWindow): void {
    const fresh = text.slice(this.#at - base, limit - base);
    if (this.#starts === null && this.#changes(fresh)) {
      this.#starts = Array.from({ length: this.text.length }, (_, index) => this.base + index);
      this.#ends = this.#starts.map((start) => start + 1);
    }
    if (this.#starts === null) {
      const ready = this.#form === "composed" && !isEnd ? fresh.slice(0, lastCluster(fresh)) : fresh;
      this.text += ready;
      this.#at += ready.length;
    } else this.#take(fresh, this.#starts, isEnd);
    this.limit = this.base + this.text.length;
    this.isEnd = isEnd;
  }

  /** Where the unit at a position begins in the written text. */
  writtenStart(position: number): number {
    if (this.#starts === null) return position;
    return position >= this.limit ? this.#at : this.#starts[position - this.base]!;
  }
  /** Where the unit before a position ends in the written text. */
  writtenEnd(position: number): number {
    return this.#starts === null ? position : this.#ends[position - 1 - this.base]!;
  }

  /** Drops the text before the position, which is no longer needed. */
  forget(before: number): void {
    const cut = before - this.base;
    if (cut <= 0) return;
    this.text = this.text.slice(cut);
    this.base += cut;
    if (this.#starts === null) return;
    this.#starts.splice(0, cut);
    this.#ends.splice(0, cut);
  }

  #changes(fresh: string): boolean {
    if (this.#isJson && fresh.includes("\\")) return true;
    if (this.#form === "written" || !UNUSUAL.test(fresh)) return false;
    return this.#form === "ascii" || NO_WIDTH.test(fresh) || fresh.normalize("NFKC") !== fresh;
  }

  #take(fresh: string, starts: number[], isEnd: boolean): void {
    const from = this.#at;
    const parts: string[] = [];
    /** A character with the marks behind it, which may not be complete. */
    let cluster: Unit[] = [];
    const add = (read: string, { start, width }: Omit<Unit, "read">): void => {
      // Two units of one character share its written width; of several characters, each stands for the whole.
      const share = read.length === 2 && read.codePointAt(0)! > 0xffff ? width / 2 : 0;
      for (let unit = 0; unit < read.length; unit++) {
        starts.push(start + unit * share);
        this.#ends.push(share === 0 ? start + width : start + (unit + 1) * share);
      }
      parts.push(read);
    };
    const addCluster = (): void => {
      const written = cluster.map(({ read }) => read).join("");
      const composed = cluster.length > 1 ? written.normalize("NFKC") : written;
      if (composed === written) for (const unit of cluster) add(unit.read, unit);
      else {
        const [{ start }, last] = [cluster[0]!, cluster.at(-1)!];
        add(composed, { start, width: last.start + last.width - start });
      }
      cluster = [];
    };
    let index = 0;
    while (index < fresh.length) {
      const code = fresh.charCodeAt(index);
      let width = 1;
      let read = code < 128 ? fresh[index]! : "";
      if (this.#isJson && code === 0x5c) {
        width = fresh[index + 1] === "u" ? 6 : 2;
        if (index + width > fresh.length) {
          // The rest of the escape has not arrived yet.
          if (!isEnd) break;
          width = fresh.length - index;
        }
        const isPair = HIGH.test(fresh.slice(index, index + width));
        // The other half is an escape as well, or has not arrived yet.
        if (isPair && !isEnd && fresh.length < index + 12) break;
        if (isPair && LOW.test(fresh.slice(index + 6, index + 12))) width = 12;
        read = this.#folded(
          unescaped(fresh.slice(index, index + Math.min(width, 6))) +
            (width === 12 ? unescaped(fresh.slice(index + 6, index + 12)) : ""),
        );
      } else if (code >= 128) {
        const codePoint = fresh.codePointAt(index)!;
        width = codePoint > 0xffff ? 2 : 1;
        read = this.#folded(fresh.slice(index, index + width));
      }
      const unit = { read, start: from + index, width };
      if (this.#form !== "composed") add(read, unit);
      else if (cluster.length > 0 && continues(read) && unit.start - cluster[0]!.start < MAX_CLUSTER) {
        if (read !== "") cluster.push(unit);
      } else {
        addCluster();
        cluster.push(unit);
      }
      index += width;
    }
    if (cluster.length > 0)
      if (isEnd) addCluster();
      else index = cluster[0]!.start - from;
    this.text += parts.join("");
    this.#at = from + index;
    spend(index * STEPS_OF_UNIT);
  }

  #folded(character: string): string {
    if (this.#form === "written" || (character.length === 1 && character.charCodeAt(0) < 128)) return character;
    return this.#form === "ascii" ? asciiForm(character) : compatibleForm(character);
  }
}

/** A character as it is read, and where it is written. */
interface Unit {
  readonly read: string;
  readonly start: number;
  readonly width: number;
}

/** In units of the written text; a character that a person can read has a few marks. */
const MAX_CLUSTER = 256;
/** Marks, and the vowels and final consonants of Hangul. https://www.unicode.org/reports/tr15/#Stream_Safe_Text_Format */
const CONTINUES = /^[\p{M}\u1161-\u1175\u11a8-\u11c2]/u;

/** Whether a character, as it is read, may become one with those before it; one of no width lies between them. */
function continues(read: string): boolean {
  return read === "" || (read.charCodeAt(0) >= 0x300 && CONTINUES.test(read));
}

/** Returns where the last character of a text begins that marks may still follow. */
function lastCluster(text: string): number {
  let at = text.length;
  while (at > 0) {
    at -= at > 1 && text.codePointAt(at - 2)! > 0xffff ? 2 : 1;
    if (text.length - at >= MAX_CLUSTER || !continues(compatibleForm(String.fromCodePoint(text.codePointAt(at)!))))
      break;
  }
  return at;
}

const HIGH = /^\\u[dD][89abAB]/;
const LOW = /^\\u[dD][c-fC-F]/;
const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function unescaped(escape: string): string {
  if (escape.length === 6) {
    const code = Number.parseInt(escape.slice(2), 16);
    return Number.isNaN(code) ? escape[1]! : String.fromCharCode(code);
  }
  return ESCAPES[escape[1] ?? ""] ?? escape[1] ?? "\\";
}

const MAX_CHARACTERS = 65_536;
const DASH = /^[\p{Pd}\u2212]$/u;
const DIGIT = /^\p{Nd}$/u;

/** What the character is a compatibility form of, or itself; empty for a character of no width. */
export const compatibleForm = memoizeBounded(MAX_CHARACTERS, (character: string): string =>
  NO_WIDTH.test(character) ? "" : character.normalize("NFKC"),
);

/** The ASCII character that a reader would see; empty for a character of no width; the character itself otherwise. */
const asciiForm = memoizeBounded(MAX_CHARACTERS, (character: string): string => {
  if (NO_WIDTH.test(character)) return "";
  if (DASH.test(character)) return "-";
  if (DIGIT.test(character)) return digitOf(character.codePointAt(0)!);
  const plain = character.normalize("NFKC");
  return plain.length === 1 && plain.charCodeAt(0) < 128 ? plain : character;
});

/**
 * Decimal digits form runs of ten that begin with zero; runs may follow each other.
 * https://www.unicode.org/reports/tr44/#General_Category_Values
 */
function digitOf(codePoint: number): string {
  const compatible = String.fromCodePoint(codePoint).normalize("NFKC");
  if (/^[0-9]$/.test(compatible)) return compatible;
  let first = codePoint;
  while (DIGIT.test(String.fromCodePoint(first - 1))) first--;
  return String((codePoint - first) % 10);
}
