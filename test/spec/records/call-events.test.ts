// New calls as server-sent events: of the reader's places only, in a bounded number of batches, from where the reader was, and with a reason at the
// end.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { consoleBrowser } from "../../harness/console/browser.ts";
import { allDatabases } from "../../harness/servers/databases.ts";

const kinds = await allDatabases();
afterAll(async () => void (await Promise.all(kinds.map((kind) => kind.dispose()))));

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    let world: AdminWorld;
    let isEnding = false;
    beforeAll(async () => {
      world = await openAdminWorld({ kind, isEnding: () => isEnding });
    });
    afterAll(() => world.close());

    const call = (parts = {}) => rowOf({ startedAtMs: Date.now() - 50, totalMs: 10, ...parts });
    const follow = async (as: string, query: string): Promise<Followed> => {
      const request = new Request(`http://gateway.test/api/v1/admin/events?${query}`, {
        headers: { authorization: `Bearer ${world.tokens.get(as)!}` },
      });
      return followed(await world.fetch(request));
    };

    test("[d2.1] a reader gets the new calls of the own places, and nothing of another tenant or project", async () => {
      const [acme, beta, site] = await Promise.all([
        follow("acme.viewer", "places=acme/-"),
        follow("beta.viewer", "places=beta/-"),
        follow("acme.site.viewer", "places=acme/site"),
      ]);
      const [ofSite, ofApp, ofBeta] = [
        call(),
        call({ projectId: "app" }),
        call({ tenantId: "beta", projectId: "lab" }),
      ];
      await world.calls.ingest([ofSite, ofApp, ofBeta]);
      const id = ({ record }: typeof ofSite): string => record.traceId;
      await Promise.all([acme.until(id(ofApp)), beta.until(id(ofBeta)), site.until(id(ofSite))]);
      // what comes later is behind what came before, so another's call would have come by now
      const last = [call(), call({ tenantId: "beta", projectId: "lab" })];
      await world.calls.ingest(last);
      await Promise.all([acme.until(id(last[0]!)), beta.until(id(last[1]!)), site.until(id(last[0]!))]);
      expect(acme.traces()).toEqual(new Set([id(ofSite), id(ofApp), id(last[0]!)]));
      expect(beta.traces()).toEqual(new Set([id(ofBeta), id(last[1]!)]));
      expect(site.traces()).toEqual(new Set([id(ofSite), id(last[0]!)]));
      expect(acme.text()).not.toContain("beta");
      await Promise.all([acme.leave(), beta.leave(), site.leave()]);
    });

    test("[d5.1] places that the reader may not see, and wrong ones, are refused before a stream begins", async () => {
      const status = async (as: string, places: string): Promise<unknown> => {
        const { status: code, body } = await world.send(as, "GET", `/api/v1/admin/events?seconds=0&places=${places}`);
        return [code, body?.["error"]?.param ?? null];
      };
      expect([
        await status("acme.viewer", "beta/-"),
        await status("acme.viewer", "beta/lab"),
        await status("acme.viewer", "acme/lab"),
        await status("acme.viewer", "-/-"),
        await status("acme.site.viewer", "acme/site,acme/app"),
        await status("acme.viewer", "acme"),
        await status("acme.viewer", ""),
        await status("default.owner", "-/-,acme/site"),
      ]).toEqual([
        [404, null],
        [404, null],
        [404, null],
        [403, null],
        [404, null],
        [400, "places"],
        [400, "places"],
        [200, null],
      ]);
    });

    test("a reader goes on from its last event, and one that was away for long is told to read the list", async () => {
      const first = await follow("acme.viewer", "places=acme/-&seconds=0");
      await first.end();
      const missed = call();
      await world.calls.ingest([missed]);
      const again = await follow("acme.viewer", `places=acme/-&seconds=0&after=${first.lastId()}`);
      await again.end();
      expect(again.traces().has(missed.record.traceId)).toBe(true);
      const away = await follow(
        "acme.viewer",
        `places=acme/-&seconds=0&after=${new Date(Date.now() - 3_600_000).toISOString()}`,
      );
      await away.end();
      expect(away.batches()).toEqual([[{ place: "acme/-", data: [], token_names: {}, more: true }]]);
    });

    test("a stream says why it ends: after its time, or because the process ends", async () => {
      const short = await follow("acme.viewer", "places=acme/-&seconds=0");
      expect(await short.end()).toBe("renew");
      const long = await follow("acme.viewer", "places=acme/-");
      isEnding = true;
      expect(await long.end()).toBe("shutting_down");
      isEnding = false;
    });

    test("[d2.6] a stream ends with its token, with the role that its places need, and with the session that is logged out", async () => {
      const admin = "/api/v1/admin";
      const { body: made } = await world.send("acme.owner", "POST", `${admin}/projects/site/tokens`, {
        name: "reader",
      });
      (world.tokens as Map<string, string>).set("reader", made.token);
      const ofToken = await follow("reader", "places=acme/site");
      await world.send("acme.owner", "POST", `${admin}/projects/site/tokens/${made.id}/revoke`);
      expect(await ofToken.end()).toBe("unauthorized");

      const role = `${admin}/tenants/acme/memberships/acme-developer`;
      const ofRole = await follow("acme.developer", "places=acme/-");
      await world.send("acme.owner", "DELETE", role);
      expect(await ofRole.end()).toBe("unauthorized");
      await world.send("acme.owner", "PUT", role, { role: "developer" });

      const browser = consoleBrowser({ origin: "http://localhost:4100", send: (request) => world.fetch(request) });
      expect((await browser.login(world.tokens.get("acme.viewer")!)).status).toBe(200);
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const ofSession = followed(
        await world.fetch(
          new Request("http://localhost:4100/console/api/v1/admin/events?places=acme/-", {
            headers: { host: "localhost:4100", "sec-fetch-site": "same-origin", "x-gateway-console": "1", cookie },
          }),
        ),
      );
      const remaining = await follow("acme.viewer", "places=acme/-");
      expect((await browser.ask("DELETE", "/console/api/session")).status).toBe(204);
      expect(await ofSession.end()).toBe("unauthorized");
      const seen = call();
      await world.calls.ingest([seen]);
      await remaining.until(seen.record.traceId);
      expect(remaining.text()).not.toContain("unauthorized");
      await remaining.leave();
    });

    test("there are at most four batches a second, however many calls end", async () => {
      const beganMs = performance.now();
      const followedStream = await follow("acme.viewer", "places=acme/-,acme/site,acme/app");
      const rows = Array.from({ length: 40 }, () => call());
      for (const row of rows) {
        await world.calls.ingest([row]);
        await Bun.sleep(20);
      }
      await followedStream.until(rows.at(-1)!.record.traceId);
      const seconds = (performance.now() - beganMs) / 1000;
      expect(followedStream.batches().length).toBeLessThanOrEqual(Math.ceil(seconds * 4) + 1);
      expect(rows.every(({ record }) => followedStream.traces().has(record.traceId))).toBe(true);
      await followedStream.leave();
    });

    test("one token opens eight streams at once; one that is left gives its place back", async () => {
      const open = await Promise.all(Array.from({ length: 8 }, () => follow("acme.admin", "places=acme/-")));
      const path = "/api/v1/admin/events?seconds=0&places=acme/-";
      expect((await world.send("acme.admin", "GET", path)).status).toBe(503);
      expect((await world.send("acme.owner", "GET", path)).status).toBe(200);
      await open[0]!.leave();
      expect((await world.send("acme.admin", "GET", path)).status).toBe(200);
      await Promise.all(open.slice(1).map((one) => one.leave()));
    });
  });

interface Followed {
  text(): string;
  until(part: string): Promise<void>;
  /** Reads to the end, and gives the reason. */
  end(): Promise<string>;
  leave(): Promise<void>;
  lastId(): string;
  batches(): readonly any[];
  traces(): ReadonlySet<string>;
}

function followed(response: Response): Followed {
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const more = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (value !== undefined) text += decoder.decode(value, { stream: true });
    return !done;
  };
  const batches = () =>
    [...text.matchAll(/^event: calls\nid: .*\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(data!).places);
  return {
    text: () => text,
    async until(part) {
      while (!text.includes(part)) if (!(await more())) throw new Error(`the stream ended without ${part}`);
    },
    async end() {
      while (await more());
      return /event: end\ndata: {"reason":"(\w+)"}\n\n$/.exec(text)![1]!;
    },
    leave: () => reader.cancel(),
    lastId: () => [...text.matchAll(/^id: (.*)$/gm)].at(-1)![1]!,
    batches,
    traces: () =>
      new Set(
        batches()
          .flat()
          .flatMap(({ data }: { data: readonly { trace_id: string }[] }) => data.map(({ trace_id }) => trace_id)),
      ),
  };
}
