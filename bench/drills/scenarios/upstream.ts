// An upstream that fails on command: a raw TCP server on a port of its own that implements just enough of OpenAI's form
// to die, stall, cut answers and send incomplete ones.
import type { Socket, TCPSocketListener } from "bun";
import {
  chunk,
  errorBody,
  head,
  LAST_CHUNK,
  type Received,
  takeRequest,
  wholeBody,
  wholeEvents,
} from "../../load/written-answers.ts";

/**
 * `dead`: the port is closed. `stall`: accepts the request and never answers. `cut`: closes the connection at 40 % of
 * the answer. `early_cut`: closes it before any content.
 */
export type Mood = "well" | "dead" | "stall" | "rate_limited" | "overloaded" | "cut" | "early_cut" | "garbage" | "slow";

export const WORDS = 20;
const RESET_S = 60;
const SLOW_MS = 150;

interface Peer extends Received {
  gone: boolean;
}

export interface DrillUpstream {
  readonly port: number;
  /** The requests that arrived, the answers that were sent completely, and the requests whose client disconnected. */
  readonly seen: { requests: number; whole: number; left: number };
  become(mood: Mood): void;
  stop(): void;
}

export function startDrillUpstream(slowMs = SLOW_MS): DrillUpstream {
  const seen = { requests: 0, whole: 0, left: 0 };
  let mood: Mood = "well";
  let listener: TCPSocketListener<Peer> | null = null;
  const sockets = new Set<Socket<Peer>>();
  let port = 0;

  const listen = (): void => {
    listener = Bun.listen<Peer>({
      hostname: "127.0.0.1",
      port,
      socket: {
        open(socket) {
          socket.data = { held: "", gone: false };
          sockets.add(socket);
        },
        data(socket, bytes) {
          socket.data.held += bytes.toString("latin1");
          for (;;) {
            const request = takeRequest(socket.data);
            if (request === null) return;
            seen.requests++;
            void answer(socket, request.includes('"stream":true'), mood, seen, slowMs);
          }
        },
        close(socket) {
          socket.data.gone = true;
          sockets.delete(socket);
        },
      },
    });
    port = listener.port;
  };
  listen();
  return {
    get port() {
      return port;
    },
    seen,
    become(next) {
      if (next === "dead" && listener !== null) {
        listener.stop(true);
        listener = null;
      } else if (next !== "dead" && listener === null) listen();
      mood = next;
    },
    stop: () => listener?.stop(true),
  };
}

const WORDING = { word: "word", words: WORDS };
const WHOLE = wholeBody(WORDING);
const EVENTS = wholeEvents(WORDING);
const refusal = (status: string, message: string, more = ""): string => {
  const body = errorBody(message);
  return head(status, "application/json", body.length, more) + body;
};

async function answer(
  socket: Socket<Peer>,
  stream: boolean,
  mood: Mood,
  seen: DrillUpstream["seen"],
  slowMs: number,
): Promise<void> {
  const write = (text: string): void => {
    if (!socket.data.gone) socket.write(text);
  };
  switch (mood) {
    case "dead":
    case "stall":
      return;
    case "rate_limited":
      return write(refusal("429 Too Many Requests", "Slow down.", `retry-after: ${RESET_S}\r\n`));
    case "overloaded":
      return write(refusal("503 Service Unavailable", "Overloaded."));
    case "garbage": {
      const page = "<!DOCTYPE html><title>It works</title>";
      return write(head("200 OK", "text/html", page.length) + page);
    }
    case "early_cut":
      write(
        stream
          ? head("200 OK", "text/event-stream", null) + chunk(EVENTS[0]!)
          : head("200 OK", "application/json", WHOLE.length),
      );
      await Bun.sleep(2);
      socket.terminate();
      return;
    case "cut": {
      if (stream)
        write(
          head("200 OK", "text/event-stream", null) +
            EVENTS.slice(0, Math.floor(EVENTS.length * 0.4))
              .map(chunk)
              .join(""),
        );
      else write(head("200 OK", "application/json", WHOLE.length) + WHOLE.slice(0, WHOLE.length * 0.4));
      await Bun.sleep(20);
      socket.terminate();
      return;
    }
    case "slow":
      await Bun.sleep(slowMs);
      break;
    case "well":
  }
  if (!stream) write(head("200 OK", "application/json", WHOLE.length) + WHOLE);
  else {
    write(head("200 OK", "text/event-stream", null));
    for (const event of EVENTS) {
      if (socket.data.gone) {
        seen.left++;
        return;
      }
      write(chunk(event));
      await Bun.sleep(1);
    }
    write(LAST_CHUNK);
  }
  seen.whole++;
}
