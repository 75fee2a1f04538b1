// The channel between supervisor and workers on a real socket: requests, messages without reply, bytes, faults, and its
// end.
import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeScratchFolder } from "../../harness/scratch-folder.ts";
import { Channel } from "../../../src/process/workers/channel.ts";
import { connectChannel, listenForChannels } from "../../../src/process/workers/sockets.ts";

type Asked = {
  double(body: number): number;
  later(body: string): string;
  turned(body: null): null;
  unknown(body: null): null;
  said(body: number): void;
};
type Told = { news(body: string): void };

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).toReversed()) end();
});

async function connected(dataFolder = makeScratchFolder()) {
  const faults: unknown[] = [];
  const supervisor = Promise.withResolvers<Channel<Told, Asked>>();
  const listener = await listenForChannels<Told, Asked>({
    dataFolder,
    onChannel: (channel) => supervisor.resolve(channel),
    onFault: (fault) => faults.push(fault),
  });
  ends.push(() => {
    listener.close();
    rmSync(dataFolder, { recursive: true, force: true });
  });
  const worker = await connectChannel<Asked, Told>(listener.path, (fault) => faults.push(fault));
  ends.push(() => worker.close());
  return { listener, worker, supervisor: await supervisor.promise, faults, dataFolder };
}

describe("[d13.2] the channel between supervisor and workers", () => {
  test("only the gateway's user can open its socket, and nothing of it is left", async () => {
    const { listener } = await connected();
    expect(statSync(dirname(listener.path)).mode & 0o777).toBe(0o700);
    listener.close();
    expect(readdirSync(dirname(listener.path))).toEqual([]);
  });

  test("in a data folder with a long path the socket stands in a folder of its own", async () => {
    const folder = join(makeScratchFolder(), "x".repeat(120));
    mkdirSync(folder);
    const { listener, worker, supervisor } = await connected(folder);
    supervisor.handle("double", (n) => 2 * n);
    expect(await worker.request("double", 4)).toBe(8);
    expect(statSync(dirname(listener.path)).mode & 0o777).toBe(0o700);
    listener.close();
    expect(() => statSync(dirname(listener.path))).toThrow("ENOENT");
  });

  test("sockets of killed gateways are removed, those of running ones stay", async () => {
    const { listener, dataFolder } = await connected();
    const dead = join(dirname(listener.path), "dead.sock");
    await Bun.write(dead, "");
    const other = await listenForChannels<Told, Asked>({ dataFolder, onChannel: () => {}, onFault: () => {} });
    ends.push(() => other.close());
    expect(readdirSync(dirname(listener.path)).length).toBe(2);
    expect(other.path).not.toBe(listener.path);
  });

  test("requests get their own replies, in whichever order these are ready", async () => {
    const { worker, supervisor } = await connected();
    const first = Promise.withResolvers<void>();
    supervisor.handle("later", async (name) => {
      if (name === "first") await first.promise;
      else first.resolve();
      return `${name} done`;
    });
    supervisor.handle("double", (n) => 2 * n);
    expect(
      await Promise.all([
        worker.request("later", "first"),
        worker.request("later", "second"),
        worker.request("double", 21),
      ]),
    ).toEqual(["first done", "second done", 42]);
  });

  test("a question with a time limit gets null where the reply is late, is an error, or cannot come", async () => {
    const { worker, supervisor } = await connected();
    const never = Promise.withResolvers<string>();
    supervisor.handle("turned", () => {});
    supervisor.handle("later", () => never.promise);
    expect(await worker.requestWithin(60_000, "turned", null)).toMatchObject({ body: null });
    expect(await worker.requestWithin(1, "later", "a name")).toBeNull();
    expect(await worker.requestWithin(60_000, "unknown", null)).toBeNull();
    worker.close();
    expect(await worker.requestWithin(60_000, "turned", null)).toBeNull();
  });

  test("both sides may ask and tell, and messages keep their order", async () => {
    const { worker, supervisor } = await connected();
    const said: unknown[] = [];
    const isSaid = Promise.withResolvers<void>();
    supervisor.handle("said", (n) => {
      said.push(n);
      if (n === 99) isSaid.resolve();
    });
    for (let n = 0; n < 100; n++) worker.notify("said", n);
    await isSaid.promise;
    expect(said).toEqual(Array.from({ length: 100 }, (_, n) => n));
    const news = Promise.withResolvers<string>();
    worker.handle("news", (text) => news.resolve(text));
    supervisor.notify("news", "hello");
    expect(await news.promise).toBe("hello");
  });

  test("messages of one turn leave in one frame", async () => {
    const { worker, supervisor } = await connected();
    supervisor.handle("double", (n) => 2 * n);
    await Promise.all(Array.from({ length: 50 }, (_, n) => worker.request("double", n)));
    expect(worker.sent).toMatchObject({ messages: 50, frames: 1 });
    expect(supervisor.sent).toMatchObject({ messages: 50, frames: 1 });
    expect(supervisor.received).toEqual({ messages: 50, bytes: worker.sent.bytes });
  });

  test("bytes arrive beside body and reply, also more than a socket takes at once", async () => {
    const { worker, supervisor } = await connected();
    supervisor.handle("turned", (_, bytes) => ({ body: null, bytes: bytes.toReversed() }));
    const large = new Uint8Array(20_000_000).map((_, index) => index % 251);
    const { bytes } = await worker.requestBytes("turned", null, large);
    expect(Bun.hash(bytes)).toBe(Bun.hash(large.toReversed()));
  });

  test("an error of the handler is the error of the request, with its kind", async () => {
    const { worker, supervisor, faults } = await connected();
    supervisor.handle("double", () => {
      throw Object.assign(new Error("not now"), { kind: "busy" });
    });
    supervisor.handle("later", () => Promise.reject(new TypeError("never")));
    expect(await worker.request("double", 1).catch((error: unknown) => error)).toMatchObject({
      message: "not now",
      code: "busy",
    });
    expect(await worker.request("later", "").catch((error: unknown) => error)).toMatchObject({ message: "never" });
    expect(await worker.request("unknown", null).catch((error: unknown) => error)).toMatchObject({
      code: "unknown_message",
    });
    expect(faults).toEqual([]);
    supervisor.handle("said", () => {
      throw new Error("of a message without reply");
    });
    worker.notify("said", 1);
    supervisor.handle("double", (n) => 2 * n);
    await worker.request("double", 1);
    expect(faults.map(String)).toEqual(["Error: of a message without reply"]);
  });

  test("when one side closes, the other learns it, and its requests fail", async () => {
    const { worker, supervisor } = await connected();
    supervisor.handle("later", () => new Promise(() => {}));
    const asked = worker.request("later", "").catch((error: unknown) => error);
    const isClosed = new Promise<void>((resolve) => worker.whenClosed(resolve));
    supervisor.close();
    await isClosed;
    expect(await asked).toMatchObject({ code: "closed" });
    expect(worker.isClosed).toBe(true);
    expect(await worker.request("later", "").catch((error: unknown) => error)).toMatchObject({ code: "closed" });
    let isToldLate = false;
    worker.whenClosed(() => (isToldLate = true));
    expect(isToldLate).toBe(true);
  });

  test("what was sent before the close arrives", async () => {
    const { worker, supervisor } = await connected();
    const said = Promise.withResolvers<number>();
    supervisor.handle("said", (n) => said.resolve(n));
    worker.notify("said", 7);
    worker.close();
    expect(await said.promise).toBe(7);
  });

  test("bytes that are no messages close the channel", async () => {
    const { listener, supervisor, faults } = await connected();
    supervisor.whenClosed(() => {});
    const isClosed = Promise.withResolvers<void>();
    const stranger = await Bun.connect({
      unix: listener.path,
      socket: { data() {}, close: () => isClosed.resolve() },
    });
    stranger.write("GET / HTTP/1.1\r\n\r\n");
    await isClosed.promise;
    expect(faults.map(String)).toEqual([expect.stringContaining("is no length of a frame")]);
  });

  test("is closed when the other side leaves too much unread, and then says so", () => {
    let ended = 0;
    const channel = new Channel<Told, Asked>({
      write: () => 0,
      end: () => (ended += 1),
      maxUnwrittenBytes: 3000,
      onFault: () => {},
    });
    const closed: boolean[] = [];
    channel.whenClosed(() => closed.push(channel.isUnread));
    for (const _ of [1, 2]) {
      channel.notify("news", "", new Uint8Array(1400));
      channel.flush();
    }
    expect([channel.isClosed, channel.isUnread, ended]).toEqual([false, false, 0]);
    channel.notify("news", "", new Uint8Array(1400));
    channel.flush();
    expect([channel.isClosed, closed, ended]).toEqual([true, [true], 1]);
  });

  test("stays open however much was sent, when it is read", async () => {
    let written = 0;
    const channel = new Channel<Told, Asked>({
      write: (bytes) => {
        written += bytes.length;
        return bytes.length;
      },
      end: () => {},
      maxUnwrittenBytes: 3000,
      onFault: () => {},
    });
    for (let sent = 0; sent < 100; sent++) {
      channel.notify("news", "", new Uint8Array(1400));
      channel.flush();
    }
    expect(channel.isClosed).toBe(false);
    expect(written).toBeGreaterThan(140_000);
  });
});
