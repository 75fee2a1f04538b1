// One entry of the journal on disk: a mark of four bytes, the CRC-32 of what follows it, the length of the text, the
// kind, and JSON text. All numbers are little-endian. The mark cannot occur inside a text, because JSON escapes control
// characters, so the next whole entry can be found after damage.

/**
 * `unsettled` is the closing entry of a call whose process ended first; `heading` begins a segment and says which run
 * of which process wrote it.
 */
export type EntryKind = "opening" | "closing" | "unsettled" | "heading";

export interface JournalEntry {
  readonly kind: EntryKind;
  /** UTF-8 of the text, not copied. */
  readonly bytes: Buffer;
  readonly text: string;
  /** Where the next entry begins. */
  readonly end: number;
}

const KINDS = ["opening", "closing", "unsettled", "heading"] as const satisfies readonly EntryKind[];
/** Record separator, "DJ", and the version of the format. */
const MARK = Uint8Array.of(0x1e, 0x44, 0x4a, 0x01);
const MARK_WORD = 0x014a441e;
const CHECKSUM_AT = 4;
const LENGTH_AT = 8;
const KIND_AT = 12;
/** Where the text of an entry begins, which is its end. */
export const TEXT_AT = 13;
/** The most bytes that UTF-8 needs for one UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** No longer text is written, so a greater length means damage. */
export const MAX_TEXT_BYTES = 4 * 1024 * 1024;

/** Of the entries that this program writes and reads. */
export const JOURNAL_FORMAT = MARK[3]!;

/** The version of the format of the entry with which these bytes begin; `null` when they begin with none. */
export function formatAtStart(bytes: Buffer): number | null {
  return bytes.length >= MARK.length && bytes.subarray(0, 3).equals(MARK.subarray(0, 3)) ? bytes[3]! : null;
}

/** Writes entries one after the other into a buffer, which is used again when it was emptied. */
export class EntryEncoder {
  #bytes = Buffer.allocUnsafe(256 * 1024);
  #length = 0;

  /** The entries begin at its start. */
  get bytes(): Buffer {
    return this.#bytes;
  }
  /** The length of all entries in `bytes`. */
  get length(): number {
    return this.#length;
  }

  add(kind: EntryKind, text: string): void {
    const start = this.#length;
    this.#makeRoom(start + TEXT_AT + text.length * BYTES_PER_UNIT);
    const bytes = this.#bytes;
    const length = bytes.write(text, start + TEXT_AT, "utf8");
    const end = start + TEXT_AT + length;
    bytes[start + KIND_AT] = KINDS.indexOf(kind);
    bytes.writeUInt32LE(length, start + LENGTH_AT);
    bytes.writeUInt32LE(MARK_WORD, start);
    bytes.writeUInt32LE(Bun.hash.crc32(bytes.subarray(start + LENGTH_AT, end)), start + CHECKSUM_AT);
    this.#length = end;
  }

  empty(): void {
    this.#length = 0;
  }

  #makeRoom(bytes: number): void {
    if (this.#bytes.length >= bytes) return;
    const larger = Buffer.allocUnsafe(bytes * 2);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/**
 * The entry that begins at `from`. `partial` means that the bytes may be the beginning of an entry; `damaged` means
 * that they are not one.
 */
export function readEntry(bytes: Buffer, from: number): JournalEntry | "partial" | "damaged" {
  const available = bytes.length - from;
  for (let index = 0; index < Math.min(MARK.length, available); index++)
    if (bytes[from + index] !== MARK[index]) return "damaged";
  if (available < TEXT_AT) return "partial";
  const length = bytes.readUInt32LE(from + LENGTH_AT);
  const kind = KINDS[bytes[from + KIND_AT]!];
  if (length > MAX_TEXT_BYTES || kind === undefined) return "damaged";
  const end = from + TEXT_AT + length;
  if (end > bytes.length) return "partial";
  if (Bun.hash.crc32(bytes.subarray(from + LENGTH_AT, end)) !== bytes.readUInt32LE(from + CHECKSUM_AT))
    return "damaged";
  const text = bytes.subarray(from + TEXT_AT, end);
  return {
    kind,
    bytes: text,
    get text() {
      return text.toString("utf8");
    },
    end,
  };
}

/** Fills the space that is reserved for a full disk. This byte does not occur in UTF-8. */
export const RESERVE_FILLING = 0xff;

/**
 * The bytes without the unused space after the last entry: that space holds zeros or the filling of the reserve, and no
 * entry ends with either.
 */
export function withoutRoomAhead(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0 || bytes[end - 1] === RESERVE_FILLING)) end -= 1;
  return bytes.subarray(0, end);
}

/** The whole entries that begin between two places, without what is damaged between them. */
export function* wholeEntries(bytes: Buffer, from = 0, to = bytes.length): Iterable<JournalEntry> {
  for (let at: number | null = from; at !== null && at < to;) {
    const entry = readEntry(bytes, at);
    if (typeof entry === "object") yield entry;
    at = typeof entry === "object" ? entry.end : nextEntry(bytes, at + 1);
  }
}

/** Where the next whole entry begins, at or after `from`; `null` when there is none. */
export function nextEntry(bytes: Buffer, from: number): number | null {
  for (let at = bytes.indexOf(MARK, from); at >= 0; at = bytes.indexOf(MARK, at + 1))
    if (typeof readEntry(bytes, at) === "object") return at;
  return null;
}
