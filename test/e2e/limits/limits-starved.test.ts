// Three real gateways on one real Redis that get CPU only now and then: stopped and continued by signals, so that their
// timers are late and run before the answers that have arrived meanwhile. The provider's own books record how many
// calls it served at once.
import { expect, test } from "bun:test";
import { startGateway } from "../../harness/processes/gateway-process.ts";
import { findServer, startRedis } from "../../harness/servers/redis-server.ts";
import { openaiAnswer, startUpstream } from "../../harness/servers/upstream.ts";

const binary = findServer("redis-server");
if (binary === null) console.log("skipped: there is no redis-server on this machine");

const LIMIT = 20;
const CALLERS = 90;
const STARVED_MS = 8000;
/** Without CPU for longer than a call used to wait for the store; then long enough for some turns of the loop. */
const STOPPED_MS = 450;
const RUNNING_MS = 40;

const config = (upstream: string): string => `
providers:
  mine: {type: custom, base_url: "${upstream}/v1", api_key: key, models: [model]}
limits:
  at_once: {metric: concurrency, limit: ${LIMIT}, on_store_failure: local_share}
`;

test.skipIf(binary === null)(
  "[d4.2] gateways that lack CPU never serve more at once than the limit, while the store is available",
  async () => {
    const redis = await startRedis();
    let atOnce = 0;
    let most = 0;
    const upstream = startUpstream(async () => {
      most = Math.max(most, ++atOnce);
      await Bun.sleep(300);
      atOnce -= 1;
      return Response.json(openaiAnswer("hello"));
    });
    const gateways = await Promise.all(
      [1, 2, 3].map(() =>
        startGateway({ config: config(upstream.url), environment: { DRAGOMAN_LIMIT_STORE_URL: redis.url } }),
      ),
    );
    let isOver = false;
    try {
      const caller = async (index: number): Promise<void> => {
        while (!isOver) {
          const answer = await gateways[index % gateways.length]!.chat({
            model: "mine:model",
            messages: [{ role: "user", content: "hello" }],
          }).catch(() => null);
          await answer?.text().catch(() => "");
          if (answer?.status !== 200) await Bun.sleep(20);
        }
      };
      const callers = Array.from({ length: CALLERS }, (_, index) => caller(index));
      const starved = gateways.map(async ({ pid }, index) => {
        await Bun.sleep(index * 130);
        for (const endsMs = performance.now() + STARVED_MS; performance.now() < endsMs;) {
          process.kill(pid, "SIGSTOP");
          await Bun.sleep(STOPPED_MS);
          process.kill(pid, "SIGCONT");
          await Bun.sleep(RUNNING_MS);
        }
      });
      await Promise.all(starved);
      isOver = true;
      await Promise.all(callers);
      const alone = await Promise.all(
        gateways.map(async ({ url }) => {
          const text = await (await fetch(`${url}/metrics`)).text();
          return Number(/^dragoman_limit_store_reservations_total\{way="alone"\} (\d+)/m.exec(text)?.[1] ?? 0);
        }),
      );
      expect(most).toBeGreaterThan(LIMIT / 2);
      expect([most <= LIMIT, alone]).toEqual([true, [0, 0, 0]]);
    } finally {
      isOver = true;
      await Promise.all(gateways.map((gateway) => gateway.stop("SIGKILL")));
      await upstream.stop();
      await redis.stop();
    }
  },
);
