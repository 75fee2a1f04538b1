// The stream on which clients of earlier versions of MCP hear of changes: it waits for as long as its client does.
import { expect, test } from "bun:test";
import { changeStream } from "../../src/http/mcp/change-stream.ts";
import { ListWatches, type WatchedList } from "../../src/http/mcp/list-watches.ts";
import type { ToolServer } from "../../src/core/configured/tool.ts";
import { until } from "../harness/time/until.ts";
import { stubGateway } from "../harness/in-process.ts";

const LIST: WatchedList = {
  token: { id: "t", tenantId: "default" },
  current: () => Promise.resolve([]),
  permitted: () => Promise.resolve(null),
};

function world() {
  const listeners = new Set<(server: ToolServer) => void>();
  const snapshot = stubGateway().context.snapshot();
  const watches = new ListWatches({
    clock: { monotonic: () => performance.now() },
    snapshot: () => snapshot,
    toolServers: {
      onListChanged(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    isEnding: () => false,
  });
  const changes = (tenantId: string | null): void => {
    for (const listener of listeners) listener({ tenantId } as ToolServer);
  };
  return { watches, changes, watched: () => listeners.size > 0 };
}

test("[d16.3] a stream waits until its client leaves", async () => {
  const { watches, watched } = world();
  const client = new AbortController();
  const reader = changeStream(LIST, watches, client.signal).getReader();
  expect([new TextDecoder().decode((await reader.read()).value), watched()]).toEqual([
    ": follows the list of tools\n\n",
    true,
  ]);
  client.abort();
  expect(watched()).toBe(false);
});

test("[d16.3] a client that has left before its stream begins takes no place among those that wait", async () => {
  const { watches, watched } = world();
  const reader = changeStream(LIST, watches, AbortSignal.abort()).getReader();
  expect([await reader.read(), watched()]).toEqual([{ done: true, value: undefined }, false]);
});

test("[d16.3] the clients of one tenant leave room for those of others, however many tokens they have", () => {
  const { watches } = world();
  const watch = (tenantId: string, id: string): (() => void) =>
    watches.watch({ ...LIST, token: { id, tenantId } }, { changed: () => {}, ended: () => {} });
  const ends: (() => void)[] = [];
  const watchAll = (): void => {
    for (let token = 0; token < 40; token++)
      for (let client = 0; client < 50; client++) ends.push(watch("greedy", `greedy-${token}`));
  };
  expect(watchAll).toThrow("of one tenant");
  expect(ends.length).toBe(1000);
  ends.push(watch("modest", "modest-1"));
  for (const end of ends) end();
});

test("[d16.3] what a tenant's server says of its list is no reason to read the lists of other tenants again", async () => {
  const { watches, changes } = world();
  const reads = { acme: 0, beta: 0 };
  const ends = (["acme", "beta"] as const).map((tenantId) =>
    watches.watch(
      { ...LIST, token: { id: tenantId, tenantId }, current: () => Promise.resolve((reads[tenantId] += 1)) },
      { changed: () => {}, ended: () => {} },
    ),
  );
  await until(() => reads.acme === 1 && reads.beta === 1);
  changes("acme");
  await until(() => reads.acme === 2);
  expect(reads.beta).toBe(1);
  changes(null);
  await until(() => reads.acme === 3 && reads.beta === 2);
  for (const end of ends) end();
});

test("[d5.8, d16.3] lists that are due at once are read in as many turns of the event loop", async () => {
  const { watches, changes } = world();
  let reads = 0;
  let inTurn = 0;
  const current = (): Promise<readonly never[]> => {
    reads += 1;
    inTurn += 1;
    return Promise.resolve([]);
  };
  const ends = Array.from({ length: 50 }, () =>
    watches.watch({ ...LIST, current }, { changed: () => {}, ended: () => {} }),
  );
  await until(() => reads === 50);
  let most = 0;
  let isOver = false;
  const turn = (): void => {
    most = Math.max(most, inTurn);
    inTurn = 0;
    if (!isOver) setImmediate(turn);
  };
  inTurn = 0;
  turn();
  changes(null);
  await until(() => reads === 100);
  isOver = true;
  // a turn is counted before or after what happens in it
  expect(most).toBeLessThan(3);
  for (const end of ends) end();
});
