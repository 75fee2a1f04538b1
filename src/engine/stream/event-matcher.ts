// Recognizes the events of a stream that differ from an earlier one only in what fills its holes: the piece of text, a
// number that counts, and padding. Such an event is compared as text and never parsed. `event-patterns.ts` writes it for
// the client of another form, and `native/native-patterns.ts` passes it on; how a template is made of an event that was
// parsed is theirs, because they know different things of it.
import type { TokenTally } from "../../accounting/estimate.ts";
import { StringScan } from "./string-scan.ts";

/** What may differ: the inside of a JSON string that is not empty, digits, or the inside of a string without escapes. */
export type Hole = "text" | "number" | "padding";

/** An event as literals with holes between them. One hole is its text, and the others occur at most once. */
export interface EventTemplate {
  readonly holes: readonly Hole[];
  /** One more than there are holes. */
  readonly literals: readonly string[];
  /** Whether a further piece of the text may pass as it is. */
  readonly passesPiece: (piece: string) => boolean;
  /** The number of the last event, which later ones exceed; 0 when events have no number. */
  number: number;
}

/** Reasoning and text, of two choices. */
const MAX_TEMPLATES = 4;
/** The number of events in a row from which a template is made that no other event fits. */
const MAX_TRIES = 8;
/** Numbers that a double holds have no more digits. */
const MAX_DIGITS = 15;
const ZERO = 0x30;

/** The templates of one stream. The properties that are not private are about the event that has fitted last. */
export class EventMatcher<Template extends EventTemplate> {
  /** The position after the event. */
  end = 0;
  /** 0 where the event has none. */
  number = 0;
  /** The text as it is written, and what it says. */
  written = "";
  said = "";
  paddingStart = 0;
  paddingEnd = 0;
  readonly #maxEventBytes: number;
  readonly #generated: TokenTally;
  readonly #judged: JudgedText;
  /** The newest is the first. */
  readonly #templates: Template[] = [];
  #tries = 0;
  readonly #text = new StringScan();
  readonly #padding = new StringScan();

  /** `passes` says whether events may pass as they came, their pieces of text apart. */
  constructor(maxEventBytes: number, generated: TokenTally, passes: (events: string) => boolean) {
    this.#maxEventBytes = maxEventBytes;
    this.#generated = generated;
    this.#judged = new JudgedText(passes);
  }

  /** Called before events of a text are matched. */
  begin(text: string): void {
    this.#judged.begin(text);
  }

  /** Returns the template that the event at `start` fits, whose text is then counted. */
  fitting(text: string, start: number): Template | null {
    for (const template of this.#templates)
      if (this.#fits(template, text, start)) {
        this.#tries = 0;
        return template;
      }
    return null;
  }

  /** Whether a template may be made of a further event, which counts as a try until an event fits. */
  mayLearn(): boolean {
    return this.#tries++ < MAX_TRIES;
  }

  learn(template: Template): void {
    if (this.#templates.unshift(template) > MAX_TEMPLATES) this.#templates.pop();
  }

  forget(): void {
    this.#templates.length = 0;
  }

  #fits(template: EventTemplate, text: string, start: number): boolean {
    const { holes, literals } = template;
    let at = start;
    let textStart = 0;
    let textEnd = 0;
    let number = 0;
    for (let index = 0; ; index++) {
      const literal = literals[index]!;
      if (!text.startsWith(literal, at)) return false;
      at += literal.length;
      const hole = holes[index];
      if (hole === undefined) break;
      let end: number;
      if (hole === "text") {
        end = this.#text.endIn(text, at);
        if (end <= at) return false;
        textStart = at;
        textEnd = end;
      } else if (hole === "padding") {
        end = this.#padding.endIn(text, at);
        if (end < 0 || this.#padding.hasEscapes) return false;
        this.paddingStart = at;
        this.paddingEnd = end;
      } else {
        end = at;
        for (let digit = digitAt(text, end); digit >= 0 && digit <= 9; digit = digitAt(text, ++end))
          number = number * 10 + digit;
        // an event that comes twice is left to the decoder, and so is a number that JSON writes otherwise
        if (number <= template.number || end - at > MAX_DIGITS || digitAt(text, at) === 0) return false;
      }
      at = end;
    }
    // a UTF-16 unit takes at most three bytes
    if ((at - start) * 3 > this.#maxEventBytes || !this.#judged.passes(start, at)) return false;
    const written = text.slice(textStart, textEnd);
    const said = this.#text.read(written);
    if (said === null || !template.passesPiece(said)) return false;
    this.#text.count(this.#generated, said);
    template.number = number;
    this.end = at;
    this.number = number;
    this.written = written;
    this.said = said;
    return true;
  }
}

function digitAt(text: string, at: number): number {
  return text.charCodeAt(at) - ZERO;
}

/**
 * Judges whether events may pass as they came. Those that have arrived together are judged as one text, which nearly always
 * passes; only where it does not is each event judged.
 */
class JudgedText {
  readonly #passes: (text: string) => boolean;
  #text = "";
  /** `null` before it was asked. */
  #passesWhole: boolean | null = null;

  constructor(passes: (text: string) => boolean) {
    this.#passes = passes;
  }

  /**
   * Called before events of a text are judged, for the same text as often as the caller likes. The text is kept even
   * where an equal one came before: the runtime compares a text with itself at once, but equal texts character by
   * character.
   */
  begin(text: string): void {
    if (text !== this.#text) this.#passesWhole = null;
    this.#text = text;
  }

  /** Whether the event between two positions of the text may pass. */
  passes(start: number, end: number): boolean {
    this.#passesWhole ??= this.#passes(this.#text);
    return this.#passesWhole || this.#passes(this.#text.slice(start, end));
  }
}
