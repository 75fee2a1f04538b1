// A connection to PostgreSQL that ends where an answer does not come in time. The driver gives up the statement and keeps the connection, on which the statement may
// still begin: whoever gets it next from the pool waits behind that, or works in a transaction that nobody ends. https://node-postgres.com/apis/client
import pg from "pg";

type Callback = (error: Error | null, result: unknown) => void;
/** The driver has many forms of it: a statement is a text or an object, and the result goes to a callback or into a promise. */
type Ask = (this: pg.Client, ...given: readonly unknown[]) => unknown;

// oxlint-disable-next-line typescript/unbound-method -- it is called with the connection
const ask = pg.Client.prototype.query as Ask;

export class PostgresClient extends pg.Client {
  /** As the driver's own; its many types come from there. */
  override query(...given: unknown[]): never {
    const last = given.at(-1);
    if (typeof last === "function") {
      const told: Callback = (error, result) => {
        this.#endIfLate(error);
        (last as Callback)(error, result);
      };
      return ask.call(this, ...given.slice(0, -1), told) as never;
    }
    const asked = ask.call(this, ...given);
    if (!(asked instanceof Promise)) return asked as never;
    return asked.catch((error: unknown) => {
      this.#endIfLate(error);
      throw error;
    }) as never;
  }

  #endIfLate(error: unknown): void {
    if (error instanceof Error && error.message === LATE) this.end(() => {});
  }
}

/** As the driver says it, which has no code for it. */
export const LATE = "Query read timeout";
