// Why a text was not taken as JSON.

export class JsonError extends Error {
  /** In UTF-16 units from the start of the text; null where no one place is at fault. */
  readonly offset: number | null;
  /** Of what goes beyond a bound: `messages[3].content`, and empty where it is the whole; null where the fault is another one. */
  readonly beyond: string | null;
  constructor(message: string, offset: number | null, beyond: string | null = null) {
    super(message);
    this.name = "JsonError";
    this.offset = offset;
    this.beyond = beyond;
  }
}
