// Why a text was not taken as JSON.

export class JsonError extends Error {
  /** In UTF-16 units from the start of the text; null where no one place is at fault. */
  readonly offset: number | null;
  constructor(message: string, offset: number | null) {
    super(message);
    this.name = "JsonError";
    this.offset = offset;
  }
}

/** The text goes beyond a bound. */
export class JsonBoundError extends JsonError {
  /** Of what is too large: `messages[3].content`. */
  readonly path: string;
  constructor(message: string, offset: number, path: string) {
    super(message, offset);
    this.name = "JsonBoundError";
    this.path = path;
  }
}
