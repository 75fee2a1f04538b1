// What a hostile upstream does (hostile-upstream.ts): every way to begin an answer with everything that may follow it
// and every delay, then misbehaviours without such a pattern, and answers that repeat a key in every spelling.
import { chunk, LAST, type Misbehaviour, type Turn } from "./hostile-upstream.ts";

const EMPTY = "Content-Length: 0\r\n\r\n";

/** How the request itself is answered. */
const FIRSTS: Readonly<Record<string, (turn: Turn) => string>> = {
  plain: (turn) => turn.plain(),
  chunks: (turn) => turn.chunked(),
  stream: (turn) => turn.events(),
  "empty-200": () => `HTTP/1.1 200 OK\r\n${EMPTY}`,
  "empty-404": () => `HTTP/1.1 404 Not Found\r\n${EMPTY}`,
  "empty-500": () => `HTTP/1.1 500 Internal Server Error\r\n${EMPTY}`,
  "no-chunks": () => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${LAST}`,
  "204": () => "HTTP/1.1 204 No Content\r\n\r\n",
  "204-length": ({ json }) => `HTTP/1.1 204 No Content\r\nContent-Length: ${json.length}\r\n\r\n`,
  "204-chunked": () => "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
  "304": () => "HTTP/1.1 304 Not Modified\r\n\r\n",
  "304-length": ({ json }) => `HTTP/1.1 304 Not Modified\r\nContent-Length: ${json.length}\r\n\r\n`,
  "103-length": (turn) => `HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n${turn.plain()}`,
};

/** Of these, the ones that are no answer, such as a 200 with an empty body. */
const NONE: ReadonlySet<string> = new Set(Object.keys(FIRSTS).filter((id) => /^(?:empty|no-chunks|204|304)/.test(id)));

/** What follows the answer, after how many milliseconds; with null, in the same write. */
const SECONDS: readonly (readonly [id: string, ms: number | null, text: (turn: Turn) => string])[] = [
  ["again-at-once", null, (turn) => turn.plain()],
  ["again-next-turn", 0, (turn) => turn.plain()],
  ["again-1ms", 1, (turn) => turn.plain()],
  ["again-3ms", 3, (turn) => turn.plain()],
  ["again-8ms", 8, (turn) => turn.plain()],
  ["again-25ms", 25, (turn) => turn.plain()],
  ["chunks-3ms", 3, (turn) => turn.chunked()],
  ["stream-3ms", 3, (turn) => turn.events()],
  ["body-3ms", 3, ({ json }) => json],
  ["refusal-3ms", 3, (turn) => turn.refusal("500 Internal Server Error", turn.json)],
  ["hints-3ms", 3, (turn) => `HTTP/1.1 103 Early Hints\r\n\r\n${turn.plain()}`],
];

const combined: readonly Misbehaviour[] = Object.entries(FIRSTS).flatMap(([first, answer]) => [
  ...SECONDS.map(([second, ms, text]): Misbehaviour => ({
    id: `${first}.${second}`,
    ...(NONE.has(first) && { isNone: true }),
    ...(first === "stream" && { stream: true }),
    play(turn) {
      if (ms === null) return turn.send(answer(turn) + text(turn));
      turn.send(answer(turn));
      turn.later(ms, () => turn.send(text(turn)));
    },
  })),
  {
    id: `${first}.owed`,
    ...(NONE.has(first) && { isNone: true }),
    ...(first === "stream" && { stream: true }),
    // the other half is sent before the next answer
    play(turn) {
      turn.send(answer(turn));
      const text = turn.plain();
      turn.later(3, () => turn.send(text.slice(0, text.length / 2)));
      turn.owe(text.slice(text.length / 2));
    },
  },
]);

const behind = (turn: Turn, text: string, ms = 3): void => turn.later(ms, () => turn.send(text));

const single: Readonly<Record<string, (turn: Turn) => void>> = {
  "off-by-one": (turn) => turn.send(turn.before.at(-1)?.plain() ?? turn.plain()),
  "off-by-two": (turn) => turn.send(turn.before.at(-2)?.plain() ?? turn.plain()),
  "answers-twice": (turn) => turn.send(turn.plain(), turn.plain()),
  "answers-thrice": (turn) => turn.send(turn.plain().repeat(3)),
  "owes-an-answer": (turn) => {
    turn.send(turn.plain());
    turn.owe(turn.plain());
  },
  "owes-a-stream": (turn) => {
    turn.send(turn.plain());
    turn.owe(turn.events());
  },
  "owes-half-a-head": (turn) => {
    turn.send(turn.plain());
    behind(turn, "HTTP/1.1 200 OK\r\nContent-Ty");
    turn.owe(`pe: application/json\r\nContent-Length: ${turn.json.length}\r\n\r\n${turn.json}`);
  },
  "length-too-short": ({ send, json }) => send(`HTTP/1.1 200 OK\r\nContent-Length: ${json.length - 20}\r\n\r\n${json}`),
  "length-too-short-by-an-answer": (turn) =>
    turn.send(`HTTP/1.1 200 OK\r\nContent-Length: ${turn.json.length}\r\n\r\n${turn.json}${turn.plain()}`),
  "length-too-short-rest-later": (turn) => {
    turn.send(`HTTP/1.1 200 OK\r\nContent-Length: ${turn.json.length}\r\n\r\n${turn.json}`);
    behind(turn, turn.json, 5);
  },
  "length-too-long": ({ send, json }) => send(`HTTP/1.1 200 OK\r\nContent-Length: ${json.length + 40}\r\n\r\n${json}`),
  "two-equal-lengths": (turn) => {
    turn.send(turn.plain(`Content-Length: ${turn.json.length}\r\n`));
    behind(turn, turn.plain());
  },
  "two-different-lengths": (turn) => turn.send(turn.plain("Content-Length: 5\r\n")),
  "length-and-chunks": (turn) => {
    turn.send(turn.chunked("Content-Length: 5\r\n"));
    behind(turn, turn.plain());
  },
  "chunk-size-lies": (turn) =>
    turn.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n${turn.json}\r\n${LAST}`),
  "chunk-size-is-no-number": (turn) =>
    turn.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n${turn.json}\r\n${LAST}`),
  "chunk-extension-repeats": (turn) =>
    turn.send(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${turn.json.length.toString(16)};x="${turn.json.replaceAll('"', "'")}"\r\n${turn.json}\r\n${LAST}`,
    ),
  "trailer-repeats": (turn) =>
    turn.send(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(turn.json)}0\r\nX-Said: ${turn.json}\r\n\r\n`,
    ),
  "trailer-then-answer": (turn) => {
    turn.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(turn.json)}0\r\nX: y\r\n\r\n`);
    behind(turn, turn.plain());
  },
  "last-chunk-twice": (turn) => {
    turn.send(turn.chunked());
    behind(turn, LAST);
  },
  "last-chunk-late": (turn) => {
    turn.send(turn.chunked().slice(0, -LAST.length));
    behind(turn, LAST + turn.plain(), 10);
  },
  "no-last-chunk": (turn) => turn.send(turn.chunked().slice(0, -LAST.length)),
  "kept-alive-of-http-1-0": (turn) => {
    turn.send(turn.plain("Connection: keep-alive\r\n").replace("HTTP/1.1", "HTTP/1.0"));
    behind(turn, turn.plain());
  },
  "close-that-stays": (turn) => {
    turn.send(turn.plain("Connection: close\r\n"));
    behind(turn, turn.plain());
  },
  "keep-alive-that-is-short": (turn) => {
    turn.send(turn.plain("Keep-Alive: timeout=1\r\n"));
    behind(turn, turn.plain(), 15);
  },
  "folded-head": (turn) => turn.send(turn.plain("X: a\r\n b\r\n")),
  "bare-line-feeds": (turn) => turn.send(turn.plain().replaceAll("\r\n", "\n")),
  "zero-byte-in-head": (turn) => turn.send(turn.plain("X: \0\r\n")),
  "huge-head": (turn) => turn.send(turn.plain(`X: ${"a".repeat(80_000)}\r\n`)),
  "switches-protocols": (turn) => turn.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", turn.plain()),
  "a-hundred-continues": (turn) => turn.send("HTTP/1.1 100 Continue\r\n\r\n".repeat(100) + turn.plain()),
  "continue-then-answers": (turn) => {
    turn.send(`HTTP/1.1 100 Continue\r\n\r\n${turn.plain()}`);
    behind(turn, `HTTP/1.1 100 Continue\r\n\r\n${turn.plain()}`);
  },
  garbage: ({ send }) => send("SSH-2.0-OpenSSH_9.2\r\n"),
  "garbage-behind": (turn) => {
    turn.send(turn.plain());
    behind(turn, `\0\0\0${turn.json}`);
  },
  "line-feed-behind": (turn) => {
    turn.send(turn.plain());
    behind(turn, "\r\n");
  },
  "reset-behind": (turn) => {
    turn.send(turn.plain());
    turn.later(2, () => turn.socket.resetAndDestroy());
  },
  "reset-in-the-middle": (turn) => {
    turn.send(turn.plain().slice(0, -30));
    turn.later(2, () => turn.socket.resetAndDestroy());
  },
  "end-in-the-middle": (turn) => {
    turn.send(turn.plain().slice(0, -30));
    turn.later(2, () => turn.socket.end());
  },
  "half-closed-behind": (turn) => {
    turn.send(turn.plain());
    turn.socket.end();
  },
  "reset-at-once": ({ socket }) => void socket.resetAndDestroy(),
  silence: () => undefined,
  "head-and-silence": (turn) => turn.send(turn.plain().slice(0, 60)),
  "byte-by-byte": (turn) =>
    [...Buffer.from(turn.plain())].forEach((byte, at) => turn.later(at / 50, () => turn.send(Buffer.of(byte)))),
  "drip-without-end": (turn) => {
    turn.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (let at = 0; at < 50; at++) turn.later(20 * at, () => turn.send(chunk(" ")));
  },
  "redirect-with-a-body": (turn) => {
    turn.send(turn.plain("Location: http://127.0.0.1:1/\r\n", "307 Temporary Redirect"));
    behind(turn, turn.plain());
  },
  "gzip-that-is-none": (turn) => turn.send(turn.plain("Content-Encoding: gzip\r\n")),
  "ends-with-the-connection-late": (turn) => {
    turn.send(`HTTP/1.1 200 OK\r\n\r\n${turn.json}`);
    turn.later(20, () => turn.socket.end(turn.plain()));
  },
  "done-then-more": (turn) => {
    turn.send(turn.events().slice(0, -LAST.length));
    behind(turn, chunk(`data: ${turn.json}\n\n`) + LAST + turn.plain(), 5);
  },
};
const STREAMED: ReadonlySet<string> = new Set(["done-then-more", "owes-a-stream"]);

/** How an answer may spell a key. */
export const SPELLINGS: Readonly<Record<string, (key: string) => string>> = {
  plain: (key) => key,
  upper: (key) => key.toUpperCase(),
  base64: (key) => Buffer.from(key).toString("base64"),
  "base64-within": (key) => Buffer.from(`Bearer ${key}; x`).toString("base64"),
  base64url: (key) => Buffer.from(`a${key}`).toString("base64url"),
  hex: (key) => Buffer.from(key).toString("hex"),
  "hex-spaced": (key) => Buffer.from(key).toString("hex").toUpperCase().replaceAll(/../g, "$& ").trim(),
  "percent-twice": (key) => [...Buffer.from(key)].map((byte) => `%25${byte.toString(16)}`).join(""),
  entities: (key) =>
    Array.from(key)
      .map((character) => `&#${character.charCodeAt(0)};`)
      .join(""),
  "hex-entities-of-entities": (key) =>
    Array.from(key)
      .map((character) => `&amp;#x${character.charCodeAt(0).toString(16)};`)
      .join(""),
  reversed: (key) => Array.from(key).toReversed().join(""),
  "zero-width": (key) => Array.from(key).join("\u200b"),
  tail: (key) => key.slice(-20),
};
const STATUSES = [
  "400 Bad Request",
  "401 Unauthorized",
  "403 Forbidden",
  "429 Too Many Requests",
  "500 Internal Server Error",
  "503 Service Unavailable",
];

const quoting: readonly Misbehaviour[] = Object.entries(SPELLINGS).flatMap(([spelling, spell]) =>
  STATUSES.map((status) => ({
    id: `quotes.${spelling}.${status.slice(0, 3)}`,
    play: (turn: Turn) => turn.send(turn.refusal(status, `The key ${spell(turn.key)} is wrong.`)),
  })),
);

/** Where a successful, correctly framed JSON answer may repeat the key. */
const PLACES: Readonly<Record<string, (key: string) => string>> = {
  id: (key) => `"id":"${key}"`,
  model: (key) => `"model":"${key}"`,
  fingerprint: (key) => `"system_fingerprint":"${key}"`,
  tier: (key) => `"service_tier":"${key}"`,
  member: (key) => `"trace":{"sent":["${key}"]}`,
  name: (key) => `"trace":{"${key}":true}`,
  usage: (key) => `"usage":{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10,"tier":"${key}"}`,
};
const repeating: readonly Misbehaviour[] = [
  ...Object.entries(PLACES).flatMap(([place, member]) => [
    {
      id: `repeats.${place}.plain`,
      play: (turn: Turn) =>
        turn.send(
          turn.framed(
            "",
            `{${member(turn.key)},"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}`,
          ),
        ),
    },
    {
      id: `repeats.${place}.stream`,
      stream: true as const,
      play: (turn: Turn) =>
        turn.send(
          turn.framed(
            "",
            `data: {${member(turn.key)},"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`,
            "text/event-stream",
          ),
        ),
    },
  ]),
  ...["x-request-id", "request-id", "retry-after", "openai-organization", "x-ratelimit-remaining-requests"].map(
    (name) => ({ id: `repeats.${name}`, play: (turn: Turn) => turn.send(turn.plain(`${name}: ${turn.key}\r\n`)) }),
  ),
];

export const MISBEHAVIOURS: readonly Misbehaviour[] = [
  ...combined,
  ...repeating,
  ...Object.entries(single).map(([id, play]): Misbehaviour => ({
    id,
    play,
    ...(STREAMED.has(id) && { stream: true }),
  })),
  ...quoting,
];
