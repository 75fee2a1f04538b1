// Several credentials of one provider: the share of calls that each gets, how long a refused one is not used, and what is reported to the operator.
import { afterAll, describe, expect, test } from "bun:test";
import type { StoredCredential } from "../../src/core/configured/credential.ts";
import { startUpstream } from "../harness/servers/upstream.ts";
import { context, iamKey, type Lending, lending, MINUTE_MS, plainKey } from "./lending.ts";

const [A, B, C] = [plainKey("key-a-0123456789ab"), plainKey("key-b-0123456789cd"), plainKey("key-c-0123456789ef")];

async function shares(
  of: Lending,
  stored: readonly StoredCredential[],
  calls: number,
): Promise<Readonly<Record<string, number>>> {
  const counted: Record<string, number> = {};
  for (let call = 0; call < calls; call++) {
    const { secret } = await of.lend(...stored);
    const name = /^key-(.)/.exec(secret)![1]!;
    counted[name] = (counted[name] ?? 0) + 1;
  }
  return counted;
}
async function refuse(
  of: Lending,
  one: StoredCredential,
  reason: "authentication" | "quota" = "authentication",
): Promise<void> {
  of.lender.refused(await of.lend(one), reason, context());
}

describe("calls are divided", () => {
  test("by weight, exactly, and without runs", async () => {
    const of = lending();
    const [five, one, other] = [
      plainKey("key-a-0123456789ab", 5),
      plainKey("key-b-0123456789cd", 1),
      plainKey("key-c-0123456789ef", 1),
    ];
    expect(await shares(of, [five, one, other], 70)).toEqual({ a: 50, b: 10, c: 10 });
    const order: string[] = [];
    for (let call = 0; call < 7; call++) order.push((await of.lend(five, one, other)).secret[4]!);
    expect(order.join("")).toBe("aabacaa");
  });

  test("continuing where they were when the configuration is reread", async () => {
    const of = lending();
    const order: string[] = [];
    for (let call = 0; call < 6; call++) order.push((await of.lend({ ...A }, { ...B }, { ...C })).secret[4]!);
    expect(order.join("")).toBe("abcabc");
  });
});

describe("a refused credential", () => {
  test("is not used for 10 minutes while the others take its calls, and is reported once with its last four characters", async () => {
    const of = lending();
    await refuse(of, A);
    await refuse(of, A);
    expect(await shares(of, [A, B], 10)).toEqual({ b: 10 });
    of.clock.pass(10 * MINUTE_MS - 1);
    expect(await shares(of, [A, B], 10)).toEqual({ b: 10 });
    of.clock.pass(1);
    expect(await shares(of, [A, B], 10)).toEqual({ a: 5, b: 5 });
    expect(of.refused).toEqual([
      { providerId: "cloud", kind: "key", lastFour: "89ab", reason: "authentication", forMs: 10 * MINUTE_MS },
    ]);
  });

  test("is excluded for longer when refused again, up to 320 minutes, and starts afresh after an hour without a refusal", async () => {
    const of = lending();
    for (let time = 0; time < 8; time++) {
      await refuse(of, A);
      of.clock.pass(of.refused.at(-1)!.forMs);
    }
    expect(of.refused.map(({ forMs }) => forMs / MINUTE_MS)).toEqual([10, 20, 40, 80, 160, 320, 320, 320]);
    of.clock.pass(60 * MINUTE_MS + 1);
    await refuse(of, A);
    expect(of.refused.at(-1)!.forMs).toBe(10 * MINUTE_MS);
  });

  test("for its quota is excluded for 5 minutes, always", async () => {
    const of = lending();
    for (let time = 0; time < 3; time++) {
      await refuse(of, A, "quota");
      of.clock.pass(5 * MINUTE_MS);
    }
    expect(of.refused.map(({ reason, forMs }) => [reason, forMs / MINUTE_MS])).toEqual([
      ["quota", 5],
      ["quota", 5],
      ["quota", 5],
    ]);
  });

  test("stays excluded when the configuration is reread, and at this server only", async () => {
    const of = lending();
    await refuse(of, A);
    expect(await shares(of, [{ ...A }, { ...B }], 6)).toEqual({ b: 6 });
    const elsewhere = new Set<string>();
    for (let call = 0; call < 6; call++)
      elsewhere.add((await of.lender.resolve([A, B], { ...context(), server: "another" })).secret);
    expect(elsewhere.size).toBe(2);
  });

  test("is used all the same when all are excluded: the one that is free first", async () => {
    const of = lending();
    await refuse(of, A);
    of.clock.pass(MINUTE_MS);
    await refuse(of, B);
    expect(await shares(of, [A, B], 5)).toEqual({ a: 5 });
    await refuse(of, C, "quota");
    expect(await shares(of, [A, B, C], 5)).toEqual({ c: 5 });
    expect(await shares(of, [A], 1)).toEqual({ a: 1 });
  });

  test("is shown in no part if it is short or a caller's", async () => {
    const of = lending();
    await refuse(of, plainKey("short-key"));
    await refuse(of, { ...A, fromCaller: true });
    expect(of.refused.map(({ lastFour }) => lastFour)).toEqual([null]);
  });
});

describe("a credential that cannot be exchanged", () => {
  const service = startUpstream((request) =>
    request.text.includes("bad")
      ? Response.json({ error: "invalid_grant" }, { status: 400 })
      : Response.json({ access_token: "key-t-0123456789", expires_in: 3600 }),
  );
  afterAll(() => service.stop());
  const [bad, good] = [iamKey(service.url, "bad-key-0123456789"), iamKey(service.url, "good-key-0123456789")];

  test("gives way to the next at once, without a failed call", async () => {
    const of = lending();
    expect(await shares(of, [bad, good], 10)).toEqual({ t: 10 });
    expect(of.refused).toMatchObject([{ kind: "ibm_iam", lastFour: "6789", reason: "authentication" }]);
    expect(service.seen.filter(({ text }) => text.includes("bad"))).toHaveLength(1);
  });

  test("fails the call when there is no other", async () => {
    const of = lending();
    const worse = iamKey(service.url, "worse-bad-key-012345");
    expect((await of.fault(bad, worse)).code).toBe("upstream_authentication");
    expect(of.refused).toHaveLength(2);
  });
});
