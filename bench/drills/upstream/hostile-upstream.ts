// An upstream that frames its answers wrongly, on real sockets, for `npm run drill:upstream`. The model of a request
// names the misbehaviour. Whatever it sends too late, too early or in excess repeats what was sent on that very
// connection, as a server or a proxy does that loses track of its requests.
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** One request, and how it can be answered. Every answer repeats the request with its key. */
export interface Turn {
  /** Sends bytes at once, unless the connection is closed. */
  readonly send: (...parts: readonly (string | Buffer)[]) => void;
  readonly later: (ms: number, step: () => void) => void;
  readonly socket: Socket;
  readonly key: string;
  /**
   * The JSON text of an answer; `plain`, `chunked` and `events` frame it by its length, in chunks, or as an event
   * stream.
   */
  readonly json: string;
  readonly plain: (head?: string, status?: string) => string;
  readonly chunked: (head?: string) => string;
  readonly events: (head?: string) => string;
  /** Frames any text by its length. */
  readonly framed: (head: string, text: string, type?: string) => string;
  /** Frames the JSON of an error by its length. */
  readonly refusal: (status: string, words: string) => string;
  /** Earlier requests on this connection. */
  readonly before: readonly Turn[];
  /** Sends the text on this connection just before the next answer. */
  owe: (text: string) => void;
}

export interface Misbehaviour {
  readonly id: string;
  readonly stream?: true;
  /** The request gets no answer at all, so that what follows may reach no other call, of the same tenant neither. */
  readonly isNone?: true;
  readonly play: (turn: Turn) => void;
}

export interface HostileUpstream {
  readonly port: number;
  readonly requests: () => number;
  /** The number of connections on which requests of several tenants, or with several keys, have arrived. */
  readonly mixed: () => number;
  stop(): Promise<void>;
}

/** A mark that every prompt contains; the tenant's name follows the first dash. */
export const MARK = /MARK-([A-Z]+)-[0-9a-z]+/g;

interface Peer {
  held: string;
  owed: string;
  readonly turns: Turn[];
  readonly tenants: Set<string>;
  readonly keys: Set<string>;
}

export async function startHostileUpstream(misbehaviours: readonly Misbehaviour[]): Promise<HostileUpstream> {
  const byId = new Map(misbehaviours.map((one) => [one.id, one]));
  const sockets = new Set<Socket>();
  let requests = 0;
  let mixed = 0;
  const server: Server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    const peer: Peer = { held: "", owed: "", turns: [], tenants: new Set(), keys: new Set() };
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.end());
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (bytes) => {
      peer.held += bytes.toString("utf8");
      for (let request = takeRequest(peer); request !== null; request = takeRequest(peer)) {
        requests++;
        const wasMixed = peer.tenants.size > 1 || peer.keys.size > 1;
        for (const [, tenant] of request.body.matchAll(MARK)) peer.tenants.add(tenant!);
        peer.keys.add(request.key);
        if (!wasMixed && (peer.tenants.size > 1 || peer.keys.size > 1)) mixed++;
        const turn = turnOf(socket, peer, request);
        const owed = peer.owed;
        peer.owed = "";
        if (owed !== "") turn.send(owed);
        (byId.get(request.model)?.play ?? ANSWER_WELL)(turn);
        peer.turns.push(turn);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => requests,
    mixed: () => mixed,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const ANSWER_WELL = (turn: Turn): void => turn.send(isStream(turn) ? turn.events() : turn.plain());
const isStream = ({ json }: Turn): boolean => json.includes('\\"stream\\":true');

interface Request {
  readonly key: string;
  readonly model: string;
  readonly body: string;
}

function takeRequest(peer: Peer): Request | null {
  const end = peer.held.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const head = peer.held.slice(0, end);
  const length = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const rest = Buffer.from(peer.held.slice(end + 4));
  if (rest.length < length) return null;
  const body = rest.subarray(0, length).toString();
  peer.held = rest.subarray(length).toString();
  return {
    key: /\nauthorization: *Bearer (\S+)/i.exec(head)?.[1] ?? "",
    model: /"model":"([^"]*)"/.exec(body)?.[1] ?? "",
    body,
  };
}

const FRAME = { id: "chatcmpl-hostile", created: 1_767_000_000, model: "m" };
const USAGE = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
export const LAST = "0\r\n\r\n";

function turnOf(socket: Socket, peer: Peer, { key, body }: Request): Turn {
  const said = `with ${key}: ${body}`;
  const json = JSON.stringify({
    ...FRAME,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: said }, finish_reason: "stop" }],
    usage: USAGE,
  });
  const framed = (status: string, head: string, text: string, type = "application/json"): string =>
    `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\n${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  const event = (choices: readonly object[], more: object = {}): string =>
    `data: ${JSON.stringify({ ...FRAME, object: "chat.completion.chunk", choices, ...more })}\n\n`;
  const half = Math.floor(said.length / 2);
  const events = [
    event([{ index: 0, delta: { role: "assistant", content: said.slice(0, half) }, finish_reason: null }]),
    event([{ index: 0, delta: { content: said.slice(half) }, finish_reason: null }]),
    event([{ index: 0, delta: {}, finish_reason: "stop" }]),
    event([], { usage: USAGE }),
    "data: [DONE]\n\n",
  ];
  return {
    socket,
    key,
    json,
    before: peer.turns.slice(-4),
    send(...parts) {
      for (const part of parts) if (socket.writable) socket.write(part);
    },
    later: (ms, step) => void (ms === 0 ? setImmediate(step) : setTimeout(step, ms)),
    plain: (head = "", status = "200 OK") => framed(status, head, json),
    chunked: (head = "") =>
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n${head}\r\n${chunk(json)}${LAST}`,
    events: (head = "") =>
      `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n${head}\r\n${events.map(chunk).join("")}${LAST}`,
    framed: (head, text, type) => framed("200 OK", head, text, type),
    refusal: (status, words) =>
      framed(status, "", JSON.stringify({ error: { message: words, type: "server_error", param: null, code: null } })),
    owe: (text) => void (peer.owed += text),
  };
}
