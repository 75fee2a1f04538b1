// Tokens over real sockets: what is requested, how long a token is used, one exchange for all waiting calls, and how a
// failing service is treated.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { Cancellation } from "../../src/core/concurrency/cancellation.ts";
import type { StoredCredential } from "../../src/core/configured/credential.ts";
import { type SeenRequest, startRawUpstream, startUpstream } from "../harness/servers/upstream.ts";
import {
  context,
  entraClient,
  HOUR_MS,
  iamKey,
  type Lending,
  lending,
  MINUTE_MS,
  OPERATORS,
  serviceAccount,
  wordsOf,
} from "./lending.ts";
import { until } from "../harness/time/until.ts";

let issued = 0;
let answer: (request: SeenRequest) => Response | Promise<Response>;
const service = startUpstream((request) => answer(request));
afterAll(() => service.stop());
const token = (lifeS: unknown = 3600): Response =>
  Response.json({ access_token: `token-${++issued}-0123456789`, expires_in: lifeS, token_type: "Bearer" });
const stored = iamKey(`${service.url}/identity/token`);
const asked = (): number => service.seen.length;
let before = 0;
const askedSince = (): number => asked() - before;

beforeEach(() => {
  issued = 0;
  before = asked();
  answer = () => token();
});

describe("a token", () => {
  test("is requested with a form, and used as a bearer token that remembers the credential for which it was exchanged", async () => {
    const { lend } = lending();
    expect(await lend(stored)).toEqual({
      kind: "token",
      secret: "token-1-0123456789",
      origin: ["iam-key-0123456789"],
      fromCaller: false,
    });
    expect(service.last().headers).toMatchObject({
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
    });
    expect(Object.fromEntries(new URLSearchParams(service.last().text))).toEqual({
      grant_type: "urn:ibm:params:oauth:grant-type:apikey",
      apikey: "iam-key-0123456789",
    });
  });

  test("is there at once while it is valid, also for another object with the same content", async () => {
    const { lend, lender } = lending();
    const first = await lend(stored);
    expect(lender.resolve([{ ...stored, weight: 7 }], context())).toBe(first);
    expect(askedSince()).toBe(1);
  });

  test("of another credential is another token", async () => {
    const { lend } = lending();
    expect(await lend(stored)).not.toEqual(await lend(iamKey(`${service.url}/identity/token`, "iam-key-other-0123")));
    expect(askedSince()).toBe(2);
  });

  test.each([
    ["an IBM key, as watsonx has it", stored],
    ["a service account of Google, as Vertex has it", serviceAccount(`${service.url}/token`)],
    ["an application of Entra, as Azure has it", entraClient(`${service.url}/oauth2/v2.0/token`)],
  ] as const)(
    "for %s is requested once by 200 calls at the same time, and once again by 200 after its end",
    async (_, of) => {
      const { lend, clock } = lending();
      answer = async () => {
        await Bun.sleep(20);
        return token();
      };
      const calls = async (): Promise<readonly string[]> => [
        ...new Set((await Promise.all(Array.from({ length: 200 }, () => lend({ ...of })))).map(({ secret }) => secret)),
      ];
      expect(await calls()).toEqual(["token-1-0123456789"]);
      expect(askedSince()).toBe(1);
      clock.pass(HOUR_MS + 1);
      expect(await calls()).toEqual(["token-2-0123456789"]);
      expect(askedSince()).toBe(2);
    },
  );

  test("of AWS, as Bedrock has it, is looked up once for 200 calls at the same time, by the vendor's library at a container's address, and once again after its end", async () => {
    const { nodeChain } = await import("../../src/credentials/aws.ts");
    const { lend, clock } = lending({ awsChain: nodeChain });
    answer = async () => {
      await Bun.sleep(20);
      const number = ++issued;
      return Response.json({
        AccessKeyId: `AKIA-${number}`,
        SecretAccessKey: "s",
        Token: "t",
        Expiration: new Date(clock.now() + HOUR_MS).toISOString(),
      });
    };
    const kept = [
      "AWS_CONTAINER_CREDENTIALS_FULL_URI",
      "AWS_EC2_METADATA_DISABLED",
      "AWS_ACCESS_KEY_ID",
      "AWS_SECRET_ACCESS_KEY",
      "AWS_PROFILE",
      "HOME",
    ].map((name) => [name, process.env[name]] as const);
    Object.assign(process.env, {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service.url}/credentials`,
      AWS_EC2_METADATA_DISABLED: "true",
      HOME: "/nonexistent",
    });
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"]) delete process.env[name];
    try {
      const calls = async () => [
        ...new Set(
          (
            await Promise.all(
              Array.from({ length: 200 }, () => lend({ kind: "aws_chain", profile: null, ...OPERATORS })),
            )
          ).map(({ accessKeyId }) => accessKeyId),
        ),
      ];
      expect(await calls()).toEqual(["AKIA-1"]);
      expect(askedSince()).toBe(1);
      clock.pass(HOUR_MS + 1);
      expect(await calls()).toEqual(["AKIA-2"]);
      expect(askedSince()).toBe(2);
    } finally {
      for (const [name, value] of kept)
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
    }
  });

  test("is renewed 5 minutes before its end, while 200 calls use the old one at once", async () => {
    const { lend, lender, clock } = lending();
    await lend(stored);
    clock.pass(HOUR_MS - 5 * MINUTE_MS - 1000);
    expect(lender.resolve([stored], context())).toMatchObject({ secret: "token-1-0123456789" });
    expect(askedSince()).toBe(1);
    clock.pass(2000);
    for (let call = 0; call < 200; call++)
      expect(lender.resolve([stored], context())).toMatchObject({ secret: "token-1-0123456789" });
    await until(() => askedSince() === 2);
    await until(() => (lender.resolve([stored], context()) as { secret?: string }).secret === "token-2-0123456789");
    expect(askedSince()).toBe(2);
  });

  test("of a short life is renewed in the last tenth of it", async () => {
    const { lend, lender, clock } = lending();
    answer = () => token("600");
    await lend(stored);
    clock.pass(9 * MINUTE_MS - 1000);
    void lender.resolve([stored], context());
    await Bun.sleep(20);
    expect(askedSince()).toBe(1);
    clock.pass(2000);
    void lender.resolve([stored], context());
    await until(() => askedSince() === 2);
  });

  test("that cannot be renewed before its end is used to its end, and the service is not called for half a minute", async () => {
    const { lend, lender, clock, fault } = lending();
    await lend(stored);
    answer = () => new Response("no", { status: 400 });
    clock.pass(HOUR_MS - 4 * MINUTE_MS);
    for (let call = 0; call < 50; call++) expect(await lend(stored)).toMatchObject({ secret: "token-1-0123456789" });
    await until(() => askedSince() === 2);
    await lend(stored);
    await Bun.sleep(20);
    expect(askedSince()).toBe(2);
    clock.pass(31_000);
    expect(lender.resolve([stored], context())).toMatchObject({ secret: "token-1-0123456789" });
    await until(() => askedSince() === 3);
    clock.pass(4 * MINUTE_MS);
    expect((await fault(stored)).code).toBe("upstream_authentication");
  });

  test("is used no longer than it lives where the clock was set back", async () => {
    const { lend, clock } = lending();
    await lend(stored);
    clock.setBack(HOUR_MS);
    clock.pass(HOUR_MS + 1000);
    expect(await lend(stored)).toMatchObject({ secret: "token-2-0123456789" });
  });

  test("that a provider refused is dropped, and a newer one is not dropped with it", async () => {
    const { lend, lender } = lending();
    const first = await lend(stored);
    lender.refused(first, "authentication", context());
    const second = await lend(stored);
    expect(second.secret).toBe("token-2-0123456789");
    lender.refused(first, "authentication", context());
    expect(await lend(stored)).toBe(second);
  });

  test("that a provider refused after it could not be renewed ahead is exchanged anew at once", async () => {
    const { lend, lender, clock } = lending();
    const first = await lend(stored);
    answer = () => new Response("no", { status: 400 });
    clock.pass(HOUR_MS - 4 * MINUTE_MS);
    expect(await lend(stored)).toBe(first);
    await until(() => askedSince() === 2);
    await Bun.sleep(20);
    answer = () => token();
    lender.refused(first, "authentication", context());
    expect(await lend(stored)).toMatchObject({ secret: "token-2-0123456789" });
  });

  test("is not awaited by a call that was ended, and still reaches the others", async () => {
    const { lender } = lending();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    answer = async () => {
      await held;
      return token();
    };
    const leaving = new Cancellation();
    const left = Promise.resolve(lender.resolve([stored], context(leaving))).catch((reason: unknown) => reason);
    const staying = lender.resolve([stored], context());
    await until(() => askedSince() === 1);
    leaving.abort(new Error("the client left"));
    expect(await left).toEqual(new Error("the client left"));
    release();
    expect(await staying).toMatchObject({ secret: "token-1-0123456789" });
    expect(askedSince()).toBe(1);
  });
});

const SECRET = "iam-key-0123456789";
const faultOf = async (of: Lending, one: StoredCredential = stored) => {
  const error = await of.fault(one);
  expect(wordsOf(error)).not.toContain(SECRET);
  return error;
};

describe("a token service that fails", () => {
  test.each<[string, () => Response, string]>([
    ["says 500", () => new Response("down", { status: 500 }), "the token service answered 500"],
    [
      "says 429",
      () => Response.json({ error: "slow_down" }, { status: 429 }),
      "the token service answered 429: slow_down",
    ],
    ["talks garbage", () => new Response("<html>"), "the token service's answer has no access_token"],
    [
      "gives a token that no header can hold",
      () => Response.json({ access_token: "a\r\nb: c" }),
      "the token service's answer has no access_token",
    ],
    [
      "redirects",
      () => new Response(null, { status: 307, headers: { location: "https://elsewhere.example/" } }),
      "the token service answered with a redirect (307), which is not followed",
    ],
    [
      "sends too much",
      () => new Response(`{"access_token":"${"t".repeat(70_000)}"}`),
      "the token service: the provider's answer has more than 65536 bytes",
    ],
  ])(
    "because it %s is asked once more, and then the call fails with the reason in the log",
    async (_, response, detail) => {
      answer = response;
      const error = await faultOf(lending());
      expect([error.code, error.detail]).toEqual(["upstream_authentication", detail]);
      expect(error.message).not.toContain("token service");
      expect(askedSince()).toBe(2);
    },
  );

  test("is reported once for a credential of the gateway until a token is obtained, also where only a renewal fails", async () => {
    const of = lending();
    const down = (): Response => new Response("down", { status: 503 });
    const detail = "the token service answered 503";
    const failing = { providerId: "cloud", kind: "ibm_iam" as const, lastFour: "6789", detail };
    answer = down;
    for (let call = 0; call < 3; call++) {
      await faultOf(of);
      of.clock.pass(2000);
    }
    expect(of.failing).toEqual([failing]);
    answer = () => token(600);
    const first = await of.lend(stored);
    // in the last tenth of its life
    of.clock.pass(550_000);
    answer = down;
    expect(of.lender.resolve([stored], context())).toBe(first);
    await until(() => of.failing.length === 2, "the failed renewal is reported");
    of.clock.pass(31_000);
    expect(of.lender.resolve([stored], context())).toBe(first);
    await until(() => askedSince() === 11, "the second renewal has failed");
    expect(of.failing).toEqual([failing, failing]);
    await of.fault({ ...stored, fromCaller: true });
    expect(of.failing).toHaveLength(2);
  });

  test("once only is not noticed", async () => {
    answer = () => (askedSince() === 1 ? new Response("down", { status: 503 }) : token());
    expect(await lending().lend(stored)).toMatchObject({ secret: "token-1-0123456789" });
  });

  test("by refusing is not called again, and the credential is reported with its last four characters", async () => {
    answer = () =>
      Response.json(
        { errorCode: "BXNIM0415E", errorMessage: `Provided API key ${SECRET} could not be found.` },
        { status: 400 },
      );
    const of = lending();
    const error = await faultOf(of);
    expect([error.code, error.detail]).toEqual([
      "upstream_authentication",
      "the token service answered 400: BXNIM0415E: Provided API key [credential] could not be found.",
    ]);
    expect(askedSince()).toBe(1);
    expect(of.refused).toEqual([
      { providerId: "cloud", kind: "ibm_iam", lastFour: "6789", reason: "authentication", forMs: 10 * MINUTE_MS },
    ]);
  });

  test("is not called for a second, in which calls fail with the same message", async () => {
    answer = () => Response.json({ error: "invalid_client" }, { status: 401 });
    const of = lending();
    for (let call = 0; call < 20; call++)
      expect((await faultOf(of)).detail).toBe("the token service answered 401: invalid_client");
    expect(askedSince()).toBe(1);
    of.clock.pass(1001);
    answer = () => token();
    expect(await of.lend(stored)).toMatchObject({ secret: "token-1-0123456789" });
  });

  test("by silence is abandoned in time, for all waiting calls at once", async () => {
    answer = () => new Promise(() => {});
    const of = lending({ exchangeTimeoutMs: 60 });
    const errors = await Promise.all([faultOf(of), faultOf(of), faultOf(of)]);
    expect(errors.map(({ detail }) => detail)).toEqual(
      Array<string>(3).fill("the token service did not answer within 0.06 s"),
    );
    expect(askedSince()).toBe(1);
  });

  test("by writing one byte at a time is abandoned in time", async () => {
    const slow = await startRawUpstream((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n");
      const timer = setInterval(() => socket.write(" "), 10);
      socket.on("close", () => clearInterval(timer));
    });
    const of = lending({ exchangeTimeoutMs: 80 });
    expect((await faultOf(of, iamKey(slow.url))).detail).toBe("the token service did not answer within 0.08 s");
    await slow.stop();
  });

  test("by being unreachable fails the calls", async () => {
    const gone = await startRawUpstream(() => {});
    await gone.stop();
    expect((await faultOf(lending(), iamKey(gone.url))).code).toBe("upstream_authentication");
  });
});

describe("a caller's credential", () => {
  const fixed = {
    ...stored,
    tokenUrl: "https://iam.cloud.ibm.com/identity/token",
    fromCaller: true,
  } as StoredCredential;
  /** Sends every address to the test's service. */
  const rerouted = (seen: string[] = []): Lending =>
    lending({
      upstream: {
        send: async (request) => {
          seen.push(request.url);
          const response = await fetch(`${service.url}/`, { method: "POST", body: request.body });
          return {
            status: response.status,
            header: (name) => response.headers.get(name),
            body: {
              read: () => Promise.resolve(null),
              bytes: () => response.bytes(),
              text: () => response.text(),
              accept: () => {},
              cancel: () => {},
            },
          };
        },
      },
    });

  test("goes to the vendor's own address and to no other", async () => {
    const seen: string[] = [];
    const of = rerouted(seen);
    expect(await of.lend(fixed)).toMatchObject({ kind: "token", fromCaller: true });
    expect(seen).toEqual(["https://iam.cloud.ibm.com/identity/token"]);
    const elsewhere = { ...stored, fromCaller: true } as StoredCredential;
    expect((await of.fault(elsewhere)).code).toBe("internal_error");
    for (const kind of [
      { kind: "google_file", path: "/etc/passwd", tokenUrl: "x" },
      { kind: "google_default" },
      { kind: "aws_chain", profile: null },
    ] as const)
      expect((await of.fault({ ...kind, weight: 1, fromCaller: true })).code).toBe("internal_error");
    expect(seen).toHaveLength(1);
  });

  test("never gets the operator's token, nor the other way round, even if the key is the same", async () => {
    const of = rerouted();
    const [callers, operators] = [await of.lend(fixed), await of.lend({ ...fixed, fromCaller: false })];
    expect([callers.secret, operators.secret]).toEqual(["token-1-0123456789", "token-2-0123456789"]);
    expect([callers.fromCaller, operators.fromCaller]).toEqual([true, false]);
    expect(await of.lend({ ...fixed })).toBe(callers);
  });

  test("that is refused is reported to the caller, and to no one else", async () => {
    answer = () => Response.json({ errorCode: "BXNIM0415E", errorMessage: `unknown key ${SECRET}` }, { status: 400 });
    const of = rerouted();
    const error = await faultOf(of, fixed);
    expect([error.code, error.message, error.detail]).toEqual([
      "credential_rejected",
      "Cloud: no token could be obtained for the credential of the request: the token service answered 400: BXNIM0415E: unknown key [credential].",
      null,
    ]);
    expect(of.refused).toEqual([]);
  });

  test("is not reported as wrong where the token service is down", async () => {
    answer = () => new Response("down", { status: 503 });
    expect((await faultOf(rerouted(), fixed)).code).toBe("upstream_connection");
  });

  test("loses its token to those of a thousand other callers, which displace none of the operator's", async () => {
    const of = rerouted();
    const operators = await of.lend({ ...fixed, fromCaller: false });
    const first = await of.lend(fixed);
    for (let other = 0; other < 1000; other++)
      await of.lend({ ...fixed, apiKey: `key-of-caller-${other}` } as StoredCredential);
    expect(await of.lend({ ...fixed, fromCaller: false })).toBe(operators);
    expect((await of.lend(fixed)).secret).not.toBe(first.secret);
  });
});
