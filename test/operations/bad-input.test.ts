// Hostile bodies at every operation that is served: never an internal error, always the envelope of the operation, the
// member that is wrong named, and one record of the call; and long ones read by the other thread (promise 5.8).
import { describe, expect, test } from "bun:test";
import { handleCall } from "../../src/engine/handle.ts";
import type { LongRequests } from "../../src/engine/long-bodies/long-requests.ts";
import type { Operation } from "../../src/engine/operation.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { isObject, type Json } from "../../src/core/json.ts";
import { FORMS } from "../../src/operations/forms.ts";
import { OPERATIONS } from "../../src/operations/operations.ts";
import { costliest, growth, MOST_GROWTH, timesAsMuch } from "../harness/time/cpu-time.ts";
import { type Stub, stubGateway } from "../harness/in-process.ts";
import { type HostileBody, hostileBodies, longBodies, REQUESTS } from "./hostile-bodies.ts";

/** How many calls may cost as much as one that is wrong. */
const MOST_CALLS = 100;
const STREAMED: ReadonlySet<string> = new Set(["chat.completions", "responses", "messages", "completions"]);
const SERVED: readonly Operation[] = [...new Map([...OPERATIONS.values()].map((each) => [each.name, each])).values()];

async function sent(gateway: Stub, operation: Operation, body: string | Uint8Array): Promise<Response> {
  const headers = {
    authorization: gateway.authorization,
    "content-type": "application/json",
    "anthropic-version": "2023-06-01",
  };
  return handleCall(operation, new Request("http://gateway.test/", { method: "POST", headers, body }), gateway.context);
}

/** The names of the members, at each level, of an error that the operation writes. */
function shapeOf(value: Json): Json {
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member as Json)]))
    : null;
}

/** Null where all is well with an answer; otherwise what is wrong. */
async function faultOf(gateway: Stub, operation: Operation, { what, body, at }: HostileBody): Promise<string | null> {
  const before = gateway.records.length;
  const response = await sent(gateway, operation, body);
  const { status } = response;
  const text = await response.text();
  const rows = gateway.records.slice(before);
  const row = rows[0];
  if (rows.length !== 1 || row!.operation !== operation.name) return `${what}: ${rows.length} records`;
  if (status >= 500 && status !== 501) return `${what}: ${status} ${text} ${row!.errorDetail}`;
  if (text === "") return `${what}: ${status} without a body`;
  if (status < 400) {
    const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
    return isStream || isObject(JSON.parse(text) as Json) ? null : `${what}: ${status} ${text}`;
  }
  const told = JSON.parse(text) as Json;
  const expected = operation.errors.body(new GatewayError(row!.code!, "x", { param: "x" }), "x") as Json;
  const [shape, wanted] = [shapeOf(told), shapeOf(expected)];
  const missing = Object.keys(wanted as object).filter((name) => !Object.hasOwn(shape as object, name));
  if (missing.length > 0) return `${what}: ${text} has no ${missing.join()}`;
  if (status === 400 && at !== null && !text.includes(at)) return `${what}: ${text} does not name ${at}`;
  return null;
}

for (const operation of SERVED)
  describe(operation.name, () => {
    test("[d5.6 d12.6] whatever is wrong with a body, the answer is an error of the operation that names it, and one record", async () => {
      const gateway = stubGateway();
      const faults: string[] = [];
      let refused = 0;
      const costly = costliest<HostileBody>();
      for (const stream of STREAMED.has(operation.name) ? [false, true] : [false])
        for (const body of hostileBodies({ ...REQUESTS[operation.name], ...(stream && { stream }) }))
          await costly.of(body, async () => {
            const fault = await faultOf(gateway, operation, body);
            if (fault !== null) faults.push(fault);
            if ((gateway.records.at(-1)?.status ?? 0) === 400) refused++;
          });
      expect(faults).toEqual([]);
      expect(refused).toBeGreaterThan(50);
      const right = JSON.stringify(REQUESTS[operation.name]);
      const wrong = costly.given!;
      const times = await timesAsMuch(
        () => faultOf(gateway, operation, wrong),
        () => sent(gateway, operation, right),
        MOST_CALLS,
      );
      expect(times).toBeLessThan(MOST_CALLS);
    });

    test("[d5.8 d12.6] lists of 100,000 items are refused in little time, with the path", async () => {
      const gateway = stubGateway();
      const read = async (bodies: readonly HostileBody[]): Promise<void> => {
        for (const body of bodies) expect(await faultOf(gateway, operation, body)).toBeNull();
      };
      for (const body of longBodies(REQUESTS[operation.name], 100_000)) {
        await read([body]);
        expect(gateway.records.at(-1)!.status).toBe(400);
      }
      const made = (items: number) => longBodies(REQUESTS[operation.name], items);
      expect(await growth(made, read, 25_000)).toBeLessThan(MOST_GROWTH);
    });

    test("[d5.8] a long body is read by the other thread, which knows the operation's form", async () => {
      expect(FORMS.get(operation.name)).toBe(operation.form);
      const opened: string[] = [];
      const longRequests = {
        open: async (bytes: Uint8Array, _bounds: unknown, _tenant: string, { name }: Operation) => {
          opened.push(`${name} ${bytes.length > 512 * 1024}`);
          throw new GatewayError("invalid_request", "read elsewhere");
        },
      } as unknown as LongRequests;
      const gateway = stubGateway({ longRequests });
      await sent(gateway, operation, JSON.stringify({ ...REQUESTS[operation.name], extra: "x".repeat(600_000) }));
      expect(opened).toEqual([`${operation.name} true`]);
    });
  });
