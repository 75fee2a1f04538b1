// A process that is killed while a call is in flight: after the next start the call is in the database and in the
// limits with its reservation, or with its estimate where no limit reserved anything.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "../../harness/processes/gateway-process.ts";

const PRICES = `prices: { sandbox: { model: "sandbox:*", prompt: "1.00", completion: "2.00" } }
routes: { second: { targets: ["sandbox:garbage"], fallbacks: ["sandbox:stall"], retries: 0 } }
`;

interface World {
  readonly name: string;
  readonly limits: string;
  readonly model: string;
  /** The attempts that ended before the kill, of which each is charged its prompt at least. */
  readonly charged: number;
}

const WORLDS: readonly World[] = [
  { name: "without any limit", limits: "", model: "sandbox:stall", charged: 0 },
  {
    name: "with a limit of tokens",
    limits: "limits: { tokens: { metric: tokens, window: day, limit: 100000 } }\n",
    model: "sandbox:stall",
    charged: 0,
  },
  {
    name: "with a money budget",
    limits: 'budgets: { money: { usd: "10", window: day } }\n',
    model: "sandbox:stall",
    charged: 0,
  },
  {
    name: "with both",
    limits:
      'limits: { tokens: { metric: tokens, window: day, limit: 100000 } }\nbudgets: { money: { usd: "10", window: day } }\n',
    model: "sandbox:stall",
    charged: 0,
  },
  {
    name: "after an attempt that was charged",
    limits:
      'budgets: { money: { usd: "10", window: day }, each: { usd: "10", window: day, scope: { provider: sandbox } } }\n',
    model: "second",
    charged: 1,
  },
];

interface Row {
  readonly settled: number;
  readonly estimated: number;
  readonly end_user: string;
  readonly prompt: number;
  readonly completion: number;
  readonly cost: number;
}

function rowsIn(dataFolder: string): readonly Row[] {
  const database = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
  const rows = database
    .query<Row, []>(
      "select settled, estimated, end_user, prompt_tokens as prompt, completion_tokens as completion, cost_nano_usd as cost from call",
    )
    .all();
  database.close();
  return rows;
}

describe.each(WORLDS)("a call that was in flight at kill -9 $name", ({ limits, model, charged }) => {
  test("[d11.2 d4.2] is charged once, in its row and in its limits the same, also after starts that were killed too", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-reservation-"));
    const dataFolder = join(folder, "data");
    const config = limits + PRICES;
    try {
      const first = await startGateway({ dataFolder, config });
      const token = first.firstToken!;
      const response = await first.chat(
        {
          model,
          messages: [{ role: "user", content: "Hi" }],
          max_completion_tokens: 500,
          user: "anna",
          stream: true,
        },
        { token },
      );
      // the attempt that stalls has begun, so that any before it has ended
      const reader = response.body!.getReader();
      let text = "";
      // the client stays until the process is gone: one that leaves would end the call
      while (!/"content":"\w/.test(text)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`the answer ended: ${text}`);
        text += new TextDecoder().decode(value);
      }
      await first.stop("SIGKILL");
      rmSync(first.folder, { recursive: true, force: true });
      for (const signal of ["SIGKILL", "SIGKILL", "SIGTERM", "SIGTERM"] as const) {
        const next = await startGateway({ dataFolder, config });
        const key = (await (
          await fetch(`${next.url}/api/v1/key`, { headers: { authorization: `Bearer ${token}` } })
        ).json()) as { limits: readonly { metric: string; used: number | string }[] };
        await next.stop(signal);
        rmSync(next.folder, { recursive: true, force: true });
        if (signal === "SIGKILL") continue;
        const rows = rowsIn(dataFolder);
        expect(rows).toMatchObject([{ settled: 0, estimated: 1, end_user: "anna" }]);
        const { prompt, completion, cost } = rows[0]!;
        // the estimated prompt and the bound of the answer, at its price
        expect(completion).toBeGreaterThanOrEqual(500);
        expect(prompt).toBeGreaterThan(0);
        expect(cost).toBe(prompt * 1000 + completion * 2000);
        if (charged === 0) expect(completion).toBe(500);
        for (const { metric, used } of key.limits)
          expect(Number(used)).toBe(metric === "tokens" ? prompt + completion : cost / 1e9);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
