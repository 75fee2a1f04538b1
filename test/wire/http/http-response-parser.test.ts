// The parser of HTTP/1.1 answers: framings, what is refused, and any answer cut anywhere against itself.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { MAX_HEAD_BYTES, MAX_HEAD_FIELDS, ResponseParser } from "../../../src/wire/http/http-response-parser.ts";
import { UpstreamFault } from "../../../src/wire/upstream.ts";

interface Reading {
  readonly outcome: "whole" | "cut" | "no head" | "malformed";
  readonly status: number;
  readonly body: string;
  readonly reusable: boolean;
  readonly header: (name: string) => string | null;
}

/** What comes of bytes in these pieces, followed by the end of the connection where `ends`. Each piece has memory of its own, as those of a socket have. */
function read(pieces: readonly Uint8Array[], ends = false): Reading {
  const parser = new ResponseParser();
  const body: Buffer[] = [];
  const reading = (outcome: Reading["outcome"]): Reading => ({
    outcome,
    status: parser.status,
    body: Buffer.concat(body).toString("latin1"),
    reusable: parser.reusable,
    header: (name) => parser.header(name),
  });
  try {
    for (const piece of pieces) {
      const bytes = parser.push(Buffer.from(piece));
      if (bytes !== null) body.push(Buffer.from(bytes));
    }
  } catch (thrown) {
    if (!(thrown instanceof UpstreamFault) || thrown.kind !== "malformed") throw thrown;
    return reading("malformed");
  }
  if (ends) parser.end();
  return reading(parser.complete ? "whole" : parser.hasHead ? "cut" : "no head");
}

const readText = (text: string, ends = false): Reading => read([Buffer.from(text, "latin1")], ends);
const byteByByte = (bytes: Uint8Array): Uint8Array[] => [...bytes].map((byte) => Uint8Array.of(byte));
/** `bytes` cut at these places, which are taken modulo its length. */
function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted(
    (one, other) => one - other,
  );
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

describe("heads", () => {
  test("fields are found in any case, joined, and trimmed", () => {
    const { header } = readText(
      `${OK}X-Some:  a b\t \r\nx-some:b\r\nX-SOMEWHAT: c\r\nX-Empty:\r\nX-High: \xe4\xa0\r\nContent-Length: 0\r\n\r\n`,
    );
    expect([
      header("x-some"),
      header("x-somewhat"),
      header("x-empty"),
      header("x-high"),
      header("x-som"),
      header("some"),
      header("ok"),
    ]).toEqual(["a b, b", "c", "", "\xe4\xa0", null, null, null]);
  });

  test("status lines with and without a reason, in both minor versions", () => {
    for (const line of [
      "HTTP/1.1 200 OK",
      "HTTP/1.1 200 ",
      "HTTP/1.1 200",
      "HTTP/1.0 200 \xfcber",
      "HTTP/1.1 999 Custom",
    ])
      expect(readText(`${line}\r\nContent-Length: 0\r\n\r\n`).outcome).toBe("whole");
    for (const line of [
      "HTTP/1.2 200 OK",
      "HTTP/2 200",
      "HTTP/1.1  200 OK",
      "HTTP/1.1 20 OK",
      "HTTP/1.1 2000",
      "HTTP/1.1 099 OK",
      "HTTP/1.1 2x0 OK",
      "http/1.1 200 OK",
      " HTTP/1.1 200 OK",
      "HTTP/1.1\t200 OK",
      "HTTP/1.1 200\tOK",
      "ICY 200 OK",
      "",
    ]) {
      expect([line, readText(`${line}\r\nContent-Length: 0\r\n\r\n`).outcome]).toEqual([line, "malformed"]);
    }
  });

  test("another protocol is refused without waiting for the end of its line", () => {
    for (const text of ["<", "SSH-2.0", "HTTP/2", "HTTP1", "\x16\x03\x01", "\n", "220 smtp"])
      expect([text, readText(text).outcome]).toEqual([text, "malformed"]);
    for (const text of ["H", "HTTP/1.", "HTTP/1.1 200 O"])
      expect([text, readText(text).outcome]).toEqual([text, "no head"]);
  });

  test("folded fields, odd names, spaces before the colon, zero bytes and line ends by themselves are refused", () => {
    const refused = [
      "X: a\r\n b",
      " X: a",
      "X : a",
      "X\t: a",
      ": a",
      "X",
      "X(: a",
      "X\xe4: a",
      "X: a\0b",
      "X\0: a",
      "X: a\nY: b",
      "X: a\rb",
      "X: a\r\r",
      "X: a\n",
      "\nX: a",
    ];
    for (const field of refused) {
      const bytes = Buffer.from(`${OK}${field}\r\nContent-Length: 0\r\n\r\n`, "latin1");
      expect([field, read([bytes]).outcome]).toEqual([field, "malformed"]);
      expect([field, read(byteByByte(bytes)).outcome]).toEqual([field, "malformed"]);
    }
    expect(readText("HTTP/1.1 200 OK\nContent-Length: 0\n\n").outcome).toBe("malformed");
  });

  test("as many fields and bytes as the bounds say, and not one more", () => {
    const fields = (count: number): string => `${OK}${"X: a\r\n".repeat(count - 1)}Content-Length: 0\r\n\r\n`;
    expect(readText(fields(MAX_HEAD_FIELDS)).outcome).toBe("whole");
    expect(readText(fields(MAX_HEAD_FIELDS + 1)).outcome).toBe("malformed");
    const bytes = (count: number): Buffer => {
      const start = `${OK}Content-Length: 0\r\nX: `;
      return Buffer.from(`${start}${"a".repeat(count - start.length - 4)}\r\n\r\n`);
    };
    for (const pieces of [(head: Buffer) => [head], (head: Buffer) => cutAt(head, [1, 100, 60_000])]) {
      expect(read(pieces(bytes(MAX_HEAD_BYTES))).outcome).toBe("whole");
      expect(read(pieces(bytes(MAX_HEAD_BYTES + 1))).outcome).toBe("malformed");
    }
    expect(readText(`${OK}X: ${"a".repeat(MAX_HEAD_BYTES)}`).outcome).toBe("malformed");
  });

  test("informational heads are skipped with all their fields, but not without bound", () => {
    const early = "HTTP/1.1 103 Early Hints\r\nConnection: close\r\nX: early\r\n\r\n";
    const { outcome, body, reusable, header } = readText(`${early.repeat(16)}${OK}Content-Length: 2\r\n\r\nhi`);
    expect([outcome, body, reusable, header("x")]).toEqual(["whole", "hi", true, null]);
    expect(readText(early.repeat(17)).outcome).toBe("malformed");
    for (const announced of ["Content-Length: 7", "Content-Length: 0", "Transfer-Encoding: gzip"])
      expect(
        readText(`HTTP/1.1 103 Early Hints\r\n${announced}\r\n\r\n${OK}Content-Length: 2\r\n\r\nhi`),
      ).toMatchObject({ outcome: "whole", body: "hi", reusable: false });
    expect(readText(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n`).outcome).toBe("malformed");
  });
});

describe("framing", () => {
  test("lengths: digits only, equal when there are several, and then nothing more is sent on the connection", () => {
    const reusable: Readonly<Record<string, boolean>> = {
      "2": true,
      "002": true,
      "2\r\nContent-Length: 2": false,
      "2, 2": false,
      "2 ,2": false,
    };
    for (const [length, again] of Object.entries(reusable))
      expect([length, readText(`${OK}Content-Length: ${length}\r\n\r\nhi`)]).toMatchObject([
        length,
        { outcome: "whole", body: "hi", reusable: again },
      ]);
    for (const length of [
      "+2",
      "-2",
      "2.0",
      "0x2",
      "2e0",
      "",
      "two",
      "2, 3",
      "2\r\nContent-Length: 3",
      "2,",
      "2 2",
      "9007199254740993",
      "99999999999999999999",
      "\u00b2",
    ]) {
      expect([length, readText(`${OK}Content-Length: ${length}\r\n\r\nhi`).outcome]).toEqual([length, "malformed"]);
    }
  });

  test("chunks take precedence over a length, and then nothing more is sent on the connection", () => {
    for (const fields of [
      "Content-Length: 2\r\nTransfer-Encoding: chunked",
      "transfer-encoding:  Chunked \r\nContent-Length: 2",
    ]) {
      expect(readText(`${OK}${fields}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)).toMatchObject({
        outcome: "whole",
        body: "hello",
        reusable: false,
      });
    }
    expect(readText(`${CHUNKED}5\r\nhello\r\n0\r\n\r\n`).reusable).toBe(true);
  });

  test("every other transfer encoding is refused", () => {
    for (const value of [
      "gzip",
      "gzip, chunked",
      "chunked, gzip",
      "chunked, chunked",
      "identity",
      "",
      "xchunked",
      "chunked;q=1",
      "\x0bchunked",
      "chunked\r\nTransfer-Encoding: chunked",
      "chunked\r\nTransfer-Encoding: identity",
    ]) {
      expect([value, readText(`${OK}Transfer-Encoding: ${value}\r\n\r\n0\r\n\r\n`).outcome]).toEqual([
        value,
        "malformed",
      ]);
    }
  });

  test("chunk sizes, extensions and trailers", () => {
    for (const chunks of [
      "5\r\nhello\r\n0\r\n\r\n",
      "05\r\nhello\r\n00\r\n\r\n",
      '2;a=b\r\nhe\r\n3 ; c="d;\xe4"\r\nllo\r\n0;e\r\n\r\n',
      "5  \r\nhello\r\n0\r\nX: a\r\nY: b\r\n\r\n",
      "5\r\nhello\r\n0\r\nno field at all\r\n\r\n",
    ]) {
      expect([chunks, readText(CHUNKED + chunks)]).toMatchObject([
        chunks,
        { outcome: "whole", body: "hello", reusable: true },
      ]);
    }
    const ten = `A\r\n${"x".repeat(10)}\r\na\r\n${"y".repeat(10)}\r\n0\r\n\r\n`;
    expect(readText(CHUNKED + ten).body).toBe("x".repeat(10) + "y".repeat(10));
    const refused = [
      "\r\nhello",
      " 5\r\nhello",
      "+5\r\nhello",
      "-5\r\nhello",
      "0x5\r\nhello",
      "5h\r\nhello",
      "5\nhello",
      "5\rhello",
      "5;a\nb\r\nhello",
      "5;a\0\r\nhello",
      "5\r\nhello!\r\n",
      "5\r\nhello\n0",
      "5\r\nhello\r0",
      "20000000000000\r\n",
      "00000000000000005\r\nhello",
      "5 x\r\nhello",
      ";\r\n",
      "0\r\nX: a\nY: b\r\n\r\n",
      "0\r\n\rx",
    ];
    for (const chunks of refused) expect([chunks, readText(CHUNKED + chunks).outcome]).toEqual([chunks, "malformed"]);
    for (const endless of [`5;${"a".repeat(20_000)}`, `5${" ".repeat(20_000)}`, `0\r\n${"X: a\r\n".repeat(4_000)}`])
      expect(readText(CHUNKED + endless).outcome).toBe("malformed");
  });

  test("the end of the connection is the end of a body without framing, and of chunks after the last one only", () => {
    expect(readText(`${OK}\r\nhello`, true)).toMatchObject({ outcome: "whole", body: "hello" });
    expect(readText(`${OK}\r\nhello`, false).outcome).toBe("cut");
    for (const chunks of ["", "5", "5\r\n", "5\r\nhello", "5\r\nhello\r\n", "5\r\nhello\r\n0", "5\r\nhello\r\n0\r"])
      expect([chunks, readText(CHUNKED + chunks, true).outcome]).toEqual([chunks, "cut"]);
    for (const chunks of ["0\r\n", "0\r\n\r", "0\r\nX: a\r\n"])
      expect([chunks, readText(CHUNKED + chunks, true).outcome]).toEqual([chunks, "whole"]);
    expect(readText(`${OK}Content-Length: 5\r\n\r\nhell`, true).outcome).toBe("cut");
    expect(readText(`${OK}Content-Length: 5\r\n`, true).outcome).toBe("no head");
  });

  test("204 and 304 have no body, whatever their head says; a head that announces one, a 304 to a request without condition, and later bytes make the connection unusable", () => {
    for (const status of [204, 304]) {
      for (const fields of ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"]) {
        expect(readText(`HTTP/1.1 ${status} X\r\n${fields}\r\n`)).toMatchObject({
          outcome: "whole",
          body: "",
          reusable: status === 204 && fields === "",
        });
        expect(readText(`HTTP/1.1 ${status} X\r\n${fields}\r\nhello`)).toMatchObject({
          outcome: "whole",
          body: "",
          reusable: false,
        });
      }
    }
  });

  test("only a connection that its sender keeps, with nothing after the answer, is used again", () => {
    for (const field of ["Connection: close", "connection: Keep-Alive, Close", "Connection: x\r\nConnection: close"])
      expect(readText(`${OK}${field}\r\nContent-Length: 2\r\n\r\nhi`).reusable).toBe(false);
    for (const field of ["Connection: keep-alive", "Connection: closed", "X: close"])
      expect(readText(`${OK}${field}\r\nContent-Length: 2\r\n\r\nhi`).reusable).toBe(true);
    expect(readText("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi").reusable).toBe(false);
    for (const answer of [`${OK}Content-Length: 2\r\n\r\nhi`, `${CHUNKED}2\r\nhi\r\n0\r\n\r\n`]) {
      expect(readText(answer)).toMatchObject({ body: "hi", reusable: true });
      expect(readText(`${answer}!`)).toMatchObject({ body: "hi", reusable: false });
      expect(read([Buffer.from(answer), Buffer.from("!")])).toMatchObject({ body: "hi", reusable: false });
    }
  });

  test("the sender's keep-alive time is read", () => {
    const timeout = (value: string): number | undefined => {
      const parser = new ResponseParser();
      parser.push(Buffer.from(`${OK}Keep-Alive: ${value}\r\nContent-Length: 0\r\n\r\n`));
      return parser.idleTimeoutMs;
    };
    expect(
      ["timeout=5", "Timeout = 5, max=100", 'max=100, timeout="5"', "max=5", "xtimeout=5", "timeout=x"].map(timeout),
    ).toEqual([5_000, 5_000, 5_000, undefined, undefined, undefined]);
  });
});

describe("any answer", () => {
  const token = fc
    .string({
      unit: fc.constantFrom("a", "b", "c", "X", "Y", "Z", "0", "9", "-", "_", ".", "!", "~"),
      minLength: 1,
      maxLength: 12,
    })
    .map((name) => `X-${name}`);
  const value = fc.string({
    unit: fc
      .integer({ min: 0x21, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
    maxLength: 20,
  });
  const field = fc.tuple(token, value, fc.constantFrom("", " ", "\t", "  "));
  const body = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 });
  const framing = fc.constantFrom("length", "chunked", "close");
  const cuts = fc.array(fc.nat(), { maxLength: 12 });

  const encode = (
    status: number,
    fields: readonly (readonly [string, string, string])[],
    pieces: readonly Uint8Array[],
    framed: string,
  ): Buffer => {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const framingField =
      framed === "length"
        ? `Content-Length: ${length}\r\n`
        : framed === "chunked"
          ? "Transfer-Encoding: chunked\r\n"
          : "";
    const head = Buffer.from(
      `HTTP/1.1 ${status} Words\r\n${fields.map(([name, text, space]) => `${name}:${space}${text}${space}\r\n`).join("")}${framingField}\r\n`,
      "latin1",
    );
    const inChunks = (): Uint8Array[] => [
      ...pieces.flatMap((piece, index) => [
        Buffer.from(`${piece.length.toString(16)}${index % 2 === 0 ? "" : ";n=v"}\r\n`),
        piece,
        Buffer.from("\r\n"),
      ]),
      Buffer.from("0\r\nX-Trailer: t\r\n\r\n"),
    ];
    return Buffer.concat([head, ...(framed === "chunked" ? inChunks() : pieces)]);
  };

  test("is read as it was sent, however it is cut", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
        fc.array(field, { maxLength: 6 }),
        body,
        framing,
        cuts,
        (status, fields, pieces, framed, places) => {
          const reading = read(cutAt(encode(status, fields, pieces, framed), places), framed === "close");
          expect(reading).toMatchObject({ outcome: "whole", status, body: Buffer.concat(pieces).toString("latin1") });
          for (const [name] of fields) {
            const wanted = fields
              .filter(([other]) => other.toLowerCase() === name.toLowerCase())
              .map(([, text]) => text);
            expect(reading.header(name.toLowerCase())).toBe(wanted.join(", "));
          }
          if (framed !== "close") expect(reading.reusable).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("damaged anywhere, has the same outcome in one piece and byte by byte, and throws nothing but a fault", () => {
    const damage = fc.record({
      at: fc.nat(),
      bytes: fc.oneof(
        fc.uint8Array({ maxLength: 3 }),
        fc.constantFrom("\r\n", "\n", "\r", "\0", " ", ":", "0", "\r\n\r\n", ";").map((text) => Buffer.from(text)),
      ),
      takes: fc.nat({ max: 3 }),
    });
    fc.assert(
      fc.property(
        fc.array(field, { maxLength: 3 }),
        body,
        framing,
        damage,
        cuts,
        (fields, pieces, framed, { at, bytes, takes }, places) => {
          const whole = encode(200, fields, pieces, framed);
          const place = at % (whole.length + 1);
          const damaged = Buffer.concat([whole.subarray(0, place), bytes, whole.subarray(place + takes)]);
          const shown = ({ outcome, status, body: text, reusable }: Reading): unknown =>
            outcome === "malformed" ? { outcome } : { outcome, status, text, reusable };
          const inOne = shown(read([damaged], true));
          expect(shown(read(byteByByte(damaged), true))).toEqual(inOne);
          expect(shown(read(cutAt(damaged, places), true))).toEqual(inOne);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("of arbitrary bytes is a fault or no head", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(["malformed", "no head"]).toContain(read([bytes], true).outcome);
      }),
      { numRuns: 500 },
    );
  });
});
