// The error of a text that is not accepted as JSON.

export class JsonError extends Error {
  /** In UTF-16 units from the start of the text; null when the fault has no single place. */
  readonly offset: number | null;
  /**
   * The path of what exceeds a bound: `messages[3].content`, or empty for the whole text. Null for every other fault.
   */
  readonly beyond: string | null;
  /** Which bound that is, where a reader has to know. */
  readonly bound: "maxValues" | "maxChangedNumbers" | null;
  /** The path of a member whose name occurs twice; null for every other fault. */
  readonly repeated: string | null;
  constructor(
    message: string,
    offset: number | null,
    { beyond = null, bound = null, repeated = null }: Partial<Pick<JsonError, "beyond" | "bound" | "repeated">> = {},
  ) {
    super(message);
    this.name = "JsonError";
    this.offset = offset;
    this.beyond = beyond;
    this.bound = bound;
    this.repeated = repeated;
  }
}
