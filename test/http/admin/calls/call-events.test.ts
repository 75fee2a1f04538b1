// Why a stream of new calls ends while the reader's right to it cannot be checked.
import { expect, test } from "bun:test";
import { GatewayError } from "../../../../src/core/errors.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { callEventOperations } from "../../../../src/http/admin/calls/call-events.ts";
import { keptCalls } from "../../../../src/http/admin/report-reads.ts";

const [following] = callEventOperations(keptCalls(null), {
  clock: systemClock,
  snapshot: (): any => ({ projects: new Map() }),
  isEnding: () => false,
});

const endOf = async (error: GatewayError): Promise<string | undefined> => {
  const caller = { token: { id: "reader" }, memberships: [], isOperator: true };
  const asked: any = {
    caller,
    callerNow: async () => {
      throw error;
    },
    session: null,
    query: { places: ["-/-"], seconds: 0 },
    snapshot: { projects: new Map() },
  };
  const { text }: any = await (following as any).run(asked);
  return /"reason":"(\w+)"/.exec(await new Response(text.content).text())?.[1];
};

test("[d2.6] a reader whose right has ended is told so, and one whose issuer cannot be reached may come back", async () => {
  expect(await endOf(new GatewayError("invalid_token", "The token has expired."))).toBe("unauthorized");
  expect(await endOf(new GatewayError("not_found", "There is nothing."))).toBe("unauthorized");
  expect(await endOf(new GatewayError("login_unavailable", "The keys cannot be fetched."))).toBe("unavailable");
});
