// Closes a connection to PostgreSQL when an answer does not arrive in time. The driver gives up the statement and keeps
// the connection, on which the statement may still begin: the next user of the connection would wait behind it, or work
// in a transaction that is never ended. https://node-postgres.com/apis/client
import type { ClientBase } from "pg";
import { isPending } from "../../core/maybe-promise.ts";
import { codeOf } from "../../core/thrown.ts";

/** The message of the driver, which has no code for this error. */
export const LATE = "Query read timeout";

/** What a server says that is a standby: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const READ_ONLY = "25006";

/** https://www.postgresql.org/docs/current/errcodes-appendix.html, and codes of the system */
const UNREACHED = /^(ECONN|EHOST|ENET|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|08|57P0)/;
const WITHOUT_CODE =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|The server does not support SSL)/;

/** Whether the error says that the server cannot be reached, or not any more. */
export function isUnreached(error: unknown): boolean {
  return UNREACHED.test(codeOf(error)) || (error instanceof Error && WITHOUT_CODE.test(error.message));
}

/** Whether the answer to a statement was lost, so that the server may have carried it out or not. */
export function isLost(error: unknown): boolean {
  return isUnreached(error) || (error instanceof Error && error.message === LATE);
}

type Callback = (error: Error | null, result: unknown) => void;
/**
 * The driver accepts many forms: a statement is a text or an object, and the result goes to a callback or into a
 * promise.
 */
type Query = (...given: readonly unknown[]) => unknown;

/**
 * To be called before the first statement. Returns the same connection. `onReadOnly` is called where the server refuses a
 * change because it was demoted.
 */
export function endWhereLate<Client extends ClientBase & { end(callback: () => void): void }>(
  client: Client,
  onReadOnly: () => void = () => {},
): Client {
  const query = client.query.bind(client) as Query;
  const judge = (error: unknown): void => {
    if (error instanceof Error && error.message === LATE) client.end(() => {});
    if (codeOf(error) === READ_ONLY) onReadOnly();
  };
  const watched: Query = (...given) => {
    const last = given.at(-1);
    if (typeof last === "function") {
      const callback: Callback = (error, result) => {
        judge(error);
        (last as Callback)(error, result);
      };
      return query(...given.slice(0, -1), callback);
    }
    const result = query(...given);
    if (!isPending(result)) return result;
    return result.catch((error: unknown) => {
      judge(error);
      throw error;
    });
  };
  return Object.assign(client, { query: watched as Client["query"] });
}
