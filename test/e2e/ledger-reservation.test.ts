// A process that is killed while a call is in flight: after the next start the call is in the database and in the
// limits with its reservation.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../harness/gateway-process.ts";

const CONFIG = `limits: { tokens: { metric: tokens, window: day, limit: 100000 } }
budgets: { money: { usd: "10", window: day } }
prices: { sandbox: { model: "sandbox:*", prompt: "1.00", completion: "2.00" } }
`;

interface Row {
  readonly settled: number;
  readonly end_user: string;
  readonly tokens: number;
  readonly cost_nano_usd: number;
}

test("[d11.2] a call that was in flight at kill -9 is charged with its reservation, in the calls and in its limits, once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-reservation-"));
  const dataFolder = join(folder, "data");
  try {
    const first = await startGateway({ dataFolder, config: CONFIG });
    const token = first.firstToken!;
    const cut = first
      .chat(
        {
          model: "sandbox:slow-60000",
          messages: [{ role: "user", content: "Hi" }],
          max_completion_tokens: 500,
          user: "anna",
        },
        { token },
      )
      .then(
        () => "answered",
        () => "cut",
      );
    // what limits have counted is kept ten times a second
    await Bun.sleep(500);
    await first.stop("SIGKILL");
    expect(await cut).toBe("cut");
    rmSync(first.folder, { recursive: true, force: true });
    for (let start = 0; start < 2; start++) {
      const next = await startGateway({ dataFolder, config: CONFIG });
      const key = (await (
        await fetch(`${next.url}/api/v1/key`, { headers: { authorization: `Bearer ${token}` } })
      ).json()) as { limits: readonly { name: string; used: number | string }[] };
      const used = Object.fromEntries(key.limits.map(({ name, used: sum }) => [name, Number(sum)]));
      await next.stop("SIGTERM");
      rmSync(next.folder, { recursive: true, force: true });
      const database = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
      const rows = database
        .query<Row, []>(
          "select settled, end_user, prompt_tokens + completion_tokens as tokens, cost_nano_usd from call",
        )
        .all();
      database.close();
      expect(rows).toEqual([
        {
          settled: 0,
          end_user: "anna",
          tokens: expect.any(Number) as number,
          cost_nano_usd: expect.any(Number) as number,
        },
      ]);
      // the estimated prompt and the bound of the answer, at its price
      expect(rows[0]!.tokens).toBeGreaterThan(500);
      expect(rows[0]!.cost_nano_usd).toBe((rows[0]!.tokens - 500) * 1000 + 500 * 2000);
      expect(used).toEqual({ tokens: rows[0]!.tokens, money: rows[0]!.cost_nano_usd / 1e9 });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
