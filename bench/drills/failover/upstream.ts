// A provider of OpenAI's form whose failures are data: a play says what is written to the connection, and how that ends. It counts the requests that arrive.
import type { Socket, TCPSocketListener } from "bun";
import {
  chunk,
  head,
  LAST_CHUNK,
  type Received,
  takeRequest,
  wholeBody,
  wholeEvents,
  type Wording,
} from "../../load/written-answers.ts";

/** One step of an answer: bytes, a pause, or the end: `kept` leaves the connection open for the next request, `silent` for ever without another byte. */
export type Part =
  | { readonly write: string }
  | { readonly pauseMs: number }
  | { readonly end: "kept" | "closed" | "reset" | "silent" };

export interface Asked {
  readonly isStream: boolean;
  /** How many requests came before this one. */
  readonly before: number;
  /** Stands in each word of an answer, so that it shows who answered. */
  readonly name: string;
}

/** `null`: the port is closed. */
export type Play = (asked: Asked) => readonly Part[];

export interface FailoverUpstream {
  readonly port: number;
  readonly requests: () => number;
  stop(): void;
}

export const WORDS = 8;
export const wordingOf = (name: string): Wording => ({ word: name, words: WORDS });

/** Everything that a provider does that is well. */
export const well: Play = ({ isStream, name }) =>
  isStream
    ? [
        { write: head("200 OK", "text/event-stream", null) },
        ...wholeEvents(wordingOf(name)).map((event) => ({ write: chunk(event) })),
        { write: LAST_CHUNK },
        { end: "kept" },
      ]
    : bodyOf("200 OK", "application/json", wholeBody(wordingOf(name)));

export function bodyOf(status: string, type: string, body: string, more = ""): readonly Part[] {
  return [{ write: head(status, type, Buffer.byteLength(body), more) + body }, { end: "kept" }];
}

interface Peer extends Received {
  isGone: boolean;
}

/** The port of the discard service, at which nothing listens: one that was opened and closed could be another server's by now. */
const CLOSED_PORT = 9;

export function startFailoverUpstream(name: string, play: Play | null): FailoverUpstream {
  if (play === null) return { port: CLOSED_PORT, requests: () => 0, stop() {} };
  let requests = 0;
  const perform = async (socket: Socket<Peer>, body: string): Promise<void> => {
    const asked: Asked = { isStream: body.includes('"stream":true'), before: requests++, name };
    for (const part of play(asked)) {
      if (socket.data.isGone) return;
      if ("write" in part) socket.write(part.write);
      else if ("pauseMs" in part) await Bun.sleep(part.pauseMs);
      else if (part.end === "closed") socket.end();
      else if (part.end === "reset") socket.terminate();
    }
  };
  const listener: TCPSocketListener<Peer> = Bun.listen<Peer>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => void (socket.data = { held: "", isGone: false }),
      data(socket, bytes) {
        socket.data.held += bytes.toString("latin1");
        for (let body = takeRequest(socket.data); body !== null; body = takeRequest(socket.data))
          void perform(socket, body);
      },
      close: (socket) => void (socket.data.isGone = true),
    },
  });
  return { port: listener.port, requests: () => requests, stop: () => listener.stop(true) };
}
