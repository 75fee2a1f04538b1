// The stream on which clients of earlier versions of MCP hear of changes: it waits for as long as its client does.
import { expect, test } from "bun:test";
import { changeStream } from "../../src/http/mcp/change-stream.ts";
import { ListWatches, type WatchedList } from "../../src/http/mcp/list-watches.ts";
import { stubGateway } from "../harness/in-process.ts";

const LIST: WatchedList = {
  token: { id: "t", tenantId: "default" },
  current: () => Promise.resolve([]),
  permitted: () => Promise.resolve(null),
};

function world() {
  let listeners = 0;
  const watches = new ListWatches({
    clock: { monotonic: () => performance.now() },
    snapshot: () => stubGateway().context.snapshot(),
    toolServers: {
      onListChanged: () => {
        listeners += 1;
        return () => void (listeners -= 1);
      },
    },
    isEnding: () => false,
  });
  return { watches, watched: () => listeners > 0 };
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
