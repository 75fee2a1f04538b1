// Promise 5.6 over the real process and bare sockets: whatever body arrives, the answer is the error body with its
// status and never a dropped connection. Limits are set small, as an operator may.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { readError } from "../chat-calls.ts";
import { chunked, rawBytes, rawCall, type RawAnswer, type RawRequest } from "../raw-calls.ts";

const MAX_BODY_BYTES = 4096;
const BODY_TIMEOUT_S = 2;

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({
    config: `server: {max_body_bytes: ${MAX_BODY_BYTES}, body_timeout_s: ${BODY_TIMEOUT_S}}\n`,
  });
});
afterAll(async () => {
  // killed: the runtime's graceful stop may wait for ever for a connection whose body was refused unread
  await gateway.stop("SIGKILL");
});

const call = (request: Omit<RawRequest, "token">): Promise<RawAnswer> =>
  rawCall(gateway.url, { token: gateway.firstToken!, ...request });

/** Status and code; throws unless the answer has the one error body. */
function outcome({ status, headers, text }: RawAnswer): string {
  return status < 400 ? String(status) : `${status} ${readError(status, headers, text).code}`;
}

/** A right request of so many bytes. */
function bodyOf(bytes: number): string {
  const body = (content: string): string =>
    JSON.stringify({ model: "sandbox:words-2", messages: [{ role: "user", content }] });
  return body("x".repeat(bytes - body("").length));
}
const HALF = MAX_BODY_BYTES / 2;

describe("size", () => {
  test("[d5.6] a body of exactly the limit is taken, with Content-Length and chunked", async () => {
    const body = bodyOf(MAX_BODY_BYTES);
    expect(outcome(await call({ pieces: [body] }))).toBe("200");
    expect(
      outcome(
        await call({
          headers: { "transfer-encoding": "chunked" },
          pieces: chunked(body.slice(0, HALF), body.slice(HALF)),
        }),
      ),
    ).toBe("200");
  });

  test("[d5.6] one byte more is answered with 413 and the error body, with Content-Length and chunked", async () => {
    const body = bodyOf(MAX_BODY_BYTES + 1);
    for (const answer of [
      await call({ pieces: [body] }),
      await call({
        headers: { "transfer-encoding": "chunked" },
        pieces: chunked(body.slice(0, HALF), body.slice(HALF)),
      }),
    ]) {
      expect(outcome(answer)).toBe("413 body_too_large");
      expect(answer.text).toContain(String(MAX_BODY_BYTES));
    }
  });

  test("[d5.6] a Content-Length over the limit is refused before the body arrives", async () => {
    for (const length of ["4097", "1000000000"]) {
      const answer = await call({ headers: { "content-length": length } });
      // one that waited for the body would be 408
      expect([length, outcome(answer)]).toEqual([length, "413 body_too_large"]);
    }
  });

  test("[d5.6] megabytes more do not cost the client its answer: the connection stays open while it sends", async () => {
    const piece = new Uint8Array(256 * 1024).fill(0x20);
    expect(outcome(await call({ pieces: Array.from({ length: 16 }, () => piece) }))).toBe("413 body_too_large");
    expect(
      outcome(
        await call({
          headers: { "transfer-encoding": "chunked" },
          pieces: chunked(...Array.from({ length: 16 }, () => piece)),
        }),
      ),
    ).toBe("413 body_too_large");
    const response = await gateway.chat(bodyOf(8 * 1024 * 1024));
    expect([response.status, readError(response.status, response.headers, await response.text()).code]).toEqual([
      413,
      "body_too_large",
    ]);
  });
});

describe("time", () => {
  test("[d5.6] a body that stops arriving is answered with 408 and the error body, at the end of its timeout", async () => {
    const body = bodyOf(1000);
    const requests = [
      { headers: { "content-length": "1000" }, pieces: [] },
      { headers: { "content-length": "1000" }, pieces: [body.slice(0, 500)] },
      { headers: { "transfer-encoding": "chunked" }, pieces: [`${(500).toString(16)}\r\n${body.slice(0, 500)}\r\n`] },
    ];
    for (const answer of await Promise.all(requests.map(call))) {
      expect(outcome(answer)).toBe("408 body_timeout");
      expect(answer.tookMs).toBeGreaterThan(BODY_TIMEOUT_S * 1000 - 50);
    }
  });

  test("[d5.6] a body that drips does not extend its timeout", async () => {
    const drops = Array.from(bodyOf(200)).flatMap((drop) => [{ pauseMs: 60 }, drop]);
    const answer = await call({ pieces: drops });
    expect(outcome(answer)).toBe("408 body_timeout");
  });

  test("[d5.6] a body that arrives in pieces within its timeout is accepted", async () => {
    const body = bodyOf(300);
    expect(
      outcome(
        await call({
          pieces: [body.slice(0, 100), { pauseMs: 50 }, body.slice(100, 200), { pauseMs: 50 }, body.slice(200)],
        }),
      ),
    ).toBe("200");
    expect(
      outcome(await call({ headers: { "transfer-encoding": "chunked" }, pieces: chunked(...body.split("")) })),
    ).toBe("200");
  });
});

describe("form", () => {
  const right = bodyOf(200);
  const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
  const member = (text: string): string => `${right.slice(0, -1)},${text}}`;
  /** The text with a byte in the place of the last x. */
  const withByte = (byte: number): Uint8Array => {
    const bytes = utf8(right);
    bytes[right.lastIndexOf("x")] = byte;
    return bytes;
  };

  const CASES: readonly (readonly [what: string, body: string | Uint8Array, expected: string])[] = [
    ["an empty body", "", "400 invalid_json"],
    ["white space", "  \n", "400 invalid_json"],
    ["half of a body", right.slice(0, 100), "400 invalid_json"],
    ["a comma too many", `${right.slice(0, -1)},}`, "400 invalid_json"],
    ["single quotes", right.replaceAll('"', "'"), "400 invalid_json"],
    ["two bodies", right + right, "400 invalid_json"],
    ["form data", "model=sandbox:echo", "400 invalid_json"],
    ["NaN", member('"temperature":NaN'), "400 invalid_json"],
    ["a list", `[${right}]`, "400 invalid_json"],
    ["a string", '"hello"', "400 invalid_json"],
    ["null", "null", "400 invalid_json"],
    ["invalid UTF-8", withByte(0xff), "400 invalid_json"],
    ["an overlong encoding", withByte(0xc0), "400 invalid_json"],
    ["UTF-16", new Uint8Array(Buffer.from(right, "utf16le")), "400 invalid_json"],
    ["only bytes", new Uint8Array(300).fill(0), "400 invalid_json"],
    ["1,500 levels of lists", `{"a":${"[".repeat(1500)}${"]".repeat(1500)}}`, "400 invalid_request"],
    ["levels without end", "[".repeat(4000), "400 invalid_request"],
    ["a key twice", member('"model":"sandbox:json"'), "400 invalid_json"],
    ["a key twice, once escaped", member('"mod\\u0065l":"sandbox:json"'), "400 invalid_json"],
    ["a number beyond every double", member('"temperature":1e999'), "400 invalid_request"],
    ["a number of 3,000 digits", member(`"n":${"9".repeat(3000)}`), "400 invalid_request"],
    ["a lone surrogate", member('"user":"\\ud800"'), "200"],
    ["a lone surrogate as a key", member('"\\udfff":1'), "200"],
    ["a byte order mark", `\ufeff${right}`, "200"],
    ["__proto__", member('"__proto__":{"polluted":true,"model":"x"}'), "200"],
    [
      "__proto__ in every object",
      '{"model":"sandbox:echo","messages":[{"role":"user","content":"x","__proto__":{"role":"system"}}],"metadata":{"__proto__":{"a":1}},"extra_body":{"__proto__":{"n":5}}}',
      "200",
    ],
    ["a number with all its digits", member('"seed":123456789012345678901234567890'), "200"],
  ];
  for (const [what, body, expected] of CASES) {
    test(`[d5.6] ${what}: ${expected}`, async () => {
      expect(outcome(await call({ pieces: [body] }))).toBe(expected);
      if (body.length > 0)
        expect(outcome(await call({ headers: { "transfer-encoding": "chunked" }, pieces: chunked(body) }))).toBe(
          expected,
        );
    });
  }

  test("[d5.6] a chunked body of 10,000 levels is refused like any other and does not harm the process", async () => {
    const large = await startGateway();
    try {
      for (const [open, close] of [
        ["[", "]"],
        ['{"a":', "}"],
      ] as const) {
        const nested = (inside: string): string =>
          `{"model":"sandbox:echo","messages":[{"role":"user","content":"x"}],${inside}}`;
        const deep = `${open.repeat(10_000)}1${close.repeat(10_000)}`;
        for (const body of [
          nested(`"x":${deep}`),
          nested(`"metadata":{"a":${deep}}`),
          nested(`"messages":${deep}`).replace('"messages":[{"role":"user","content":"x"}],', ""),
          deep,
        ])
          expect(outcome(await rawCall(large.url, { token: large.firstToken!, pieces: [body] }))).toBe(
            "400 invalid_request",
          );
      }
      expect(
        (await large.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "still here" }] })).status,
      ).toBe(200);
    } finally {
      await large.stop();
    }
  });

  test("[d5.6] mistakes in the JSON are reported with their place", async () => {
    const { text } = await call({ pieces: ['{\n  "model": "sandbox:echo",\n  "messages": nope\n}'] });
    expect(text).toMatch(/line 3, column 15/);
  });
});

describe("content type", () => {
  const pieces = [bodyOf(200)];
  test("[d5.6] JSON in every spelling is accepted", async () => {
    for (const type of [
      "application/json",
      "application/json; charset=utf-8",
      "APPLICATION/JSON",
      "application/json;charset=UTF-8",
      "application/vnd.api+json",
    ])
      expect([type, outcome(await call({ headers: { "content-type": type }, pieces }))]).toEqual([type, "200"]);
  });
  test("[d5.6] any other content type, none, and an encoded body are answered with 415", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/jsonx",
      "application/octet-stream",
      "json",
      undefined,
    ])
      expect([type, outcome(await call({ headers: { "content-type": type }, pieces }))]).toEqual([
        type,
        "415 unsupported_media_type",
      ]);
    for (const encoding of ["gzip", "br", "zstd", "x"])
      expect([encoding, outcome(await call({ headers: { "content-encoding": encoding }, pieces }))]).toEqual([
        encoding,
        "415 unsupported_media_type",
      ]);
    for (const encoding of ["identity", "Identity"])
      expect([encoding, outcome(await call({ headers: { "content-encoding": encoding }, pieces }))]).toEqual([
        encoding,
        "200",
      ]);
  });
});

describe("method and path", () => {
  test("[d5.1] another method is answered with 405 that names the right one, an unknown path with 404, both in the common form", async () => {
    for (const method of ["PUT", "DELETE", "PATCH"]) {
      const answer = await call({ method });
      expect([method, outcome(answer), answer.headers.get("allow")]).toEqual([
        method,
        "405 method_not_allowed",
        "POST",
      ]);
    }
    const unknown = ["chat", "complete", "chat/completions%20", "constructor", "__proto__"].map(
      (name) => `/api/v1/${name}`,
    );
    for (const path of ["/api/v2/chat/completions", ...unknown])
      expect([path, outcome(await call({ path, pieces: [bodyOf(200)] }))]).toEqual([path, "404 operation_not_served"]);
    for (const path of ["/", "/%00", "/..%2f..%2fetc/passwd", `/${"a".repeat(4000)}`])
      expect([path, outcome(await call({ path, pieces: [bodyOf(200)] }))]).toEqual([path, "404 not_found"]);
    expect(outcome(await call({ path: "/api/v1/chat/completions?x=1", pieces: [bodyOf(200)] }))).toBe("200");
  });
});

describe("bytes that are not HTTP", () => {
  test("[d5.6] get the server's bare refusal, and the process goes on", async () => {
    const bare: readonly (readonly [request: string, status: number])[] = [
      ["nonsense\r\n\r\n", 400],
      ["GET / HTTP/9.9\r\nhost: x\r\n\r\n", 505],
      [`GET / HTTP/1.1\r\nhost: x\r\nx-long: ${"a".repeat(20_000)}\r\n\r\n`, 431],
      ["POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", 400],
      [
        "POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
        400,
      ],
    ];
    for (const [request, status] of bare) {
      const answer = await rawBytes(gateway.url, [request]).catch((thrown: unknown) => thrown as Error);
      expect([request.slice(0, 40), answer instanceof Error ? answer.message : answer.status]).toEqual([
        request.slice(0, 40),
        status,
      ]);
    }
    expect(outcome(await call({ pieces: [bodyOf(200)] }))).toBe("200");
  });
});
