// Makes a connection to PostgreSQL end where an answer does not come in time. The driver gives up the statement and keeps the connection, on which the statement may
// still begin: whoever gets it next from the pool waits behind that, or works in a transaction that nobody ends. https://node-postgres.com/apis/client
import type { ClientBase } from "pg";

/** As the driver says it, which has no code for it. */
export const LATE = "Query read timeout";

type Callback = (error: Error | null, result: unknown) => void;
/** The driver has many forms of it: a statement is a text or an object, and the result goes to a callback or into a promise. */
type Query = (...given: readonly unknown[]) => unknown;

/** Before the first statement. The same connection, for those who make one. */
export function endWhereLate<Client extends ClientBase & { end(told: () => void): void }>(client: Client): Client {
  const query = client.query.bind(client) as Query;
  const endIfLate = (error: unknown): void => {
    if (error instanceof Error && error.message === LATE) client.end(() => {});
  };
  const watched: Query = (...given) => {
    const last = given.at(-1);
    if (typeof last === "function") {
      const told: Callback = (error, result) => {
        endIfLate(error);
        (last as Callback)(error, result);
      };
      return query(...given.slice(0, -1), told);
    }
    const asked = query(...given);
    if (!(asked instanceof Promise)) return asked;
    return asked.catch((error: unknown) => {
      endIfLate(error);
      throw error;
    });
  };
  return Object.assign(client, { query: watched as Client["query"] });
}
