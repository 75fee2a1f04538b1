// Hostile bodies at every operation that is served: never an internal error, always the envelope of the operation, the
// member that is wrong named, and one record of the call; and long ones read by the other thread (promise 5.8).
import { describe, expect, test } from "bun:test";
import { handleCall } from "../../src/chat/handle.ts";
import type { LongRequests } from "../../src/chat/long-bodies/long-requests.ts";
import type { Operation } from "../../src/chat/operation.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { isObject, type Json } from "../../src/core/json.ts";
import { FORMS } from "../../src/operations/forms.ts";
import { OPERATIONS } from "../../src/operations/operations.ts";
import { cpuMsOf } from "../harness/cpu-time.ts";
import { type Stub, stubGateway } from "../harness/in-process.ts";
import { type HostileBody, hostileBodies, longBodies, REQUESTS } from "./hostile-bodies.ts";

const SOON_CPU_MS = 5000;
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
      const cpuMs = await cpuMsOf(async () => {
        for (const stream of STREAMED.has(operation.name) ? [false, true] : [false])
          for (const body of hostileBodies({ ...REQUESTS[operation.name], ...(stream && { stream }) })) {
            const fault = await faultOf(gateway, operation, body);
            if (fault !== null) faults.push(fault);
            if ((gateway.records.at(-1)?.status ?? 0) === 400) refused++;
          }
      });
      expect(faults).toEqual([]);
      expect(refused).toBeGreaterThan(50);
      expect(cpuMs / gateway.records.length).toBeLessThan(50);
    });

    test("[d5.8 d12.6] lists of 100,000 items are refused in little time, with the path", async () => {
      const gateway = stubGateway();
      for (const body of longBodies(REQUESTS[operation.name])) {
        const cpuMs = await cpuMsOf(async () => {
          expect(await faultOf(gateway, operation, body)).toBeNull();
        });
        expect(gateway.records.at(-1)!.status).toBe(400);
        expect(cpuMs).toBeLessThan(SOON_CPU_MS);
      }
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
