// Promises 6.9 and 2.12 for content behind an address: what a model that takes bytes only receives, and what the
// gateway never fetches.
import { describe, expect, test } from "bun:test";
import { checkAddress } from "../../../src/wire/address-guard.ts";
import type { UpstreamCall, UpstreamClient, UpstreamRequest } from "../../../src/wire/upstream.ts";
import { cannedUpstream, type CannedAnswer, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { ask, HELLO } from "../chat-calls.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";
import { until } from "../../harness/time/until.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const MIB = 1024 * 1024;
const HERE = "http://93.184.215.14";
const MODEL = "sambanova:Llama-4-Maverick-17B-128E-Instruct";
const PATH = "messages[0].content[1].image_url.url";

const image = (url: string) => ({ type: "image_url", image_url: { url } });
const asking = (...urls: readonly string[]) => ({
  model: MODEL,
  messages: [{ role: "user", content: [{ type: "text", text: "What is it?" }, ...urls.map(image)] }],
});

/** The chat operation answers once `answers` is over, every GET is what the test says. */
function gatewayWith(
  content: CannedAnswer | ((request: UpstreamRequest) => CannedAnswer),
  limits: StubOptions["limits"] = {},
  snapshot: StubOptions["snapshot"] = {},
  answers: () => Promise<void> = async () => {},
) {
  const fetched: { readonly request: UpstreamRequest; readonly call: UpstreamCall }[] = [];
  const chat = cannedUpstream({ body: JSON.stringify(openaiAnswer()) });
  const files = cannedUpstream(content);
  const upstream: UpstreamClient = {
    async send(request, call) {
      if (request.method !== "GET") {
        await answers();
        return chat.send(request, call);
      }
      fetched.push({ request, call });
      return files.send(request, call);
    },
  };
  return {
    gateway: stubGateway({ upstream, limits, snapshot, permissions: ["byo_endpoint", "vendor_objects"] }),
    fetched,
  };
}

const png: CannedAnswer = { headers: { "content-type": "image/png" }, body: PNG };
const posted = (gateway: ReturnType<typeof gatewayWith>["gateway"]) =>
  gateway.sent.filter(({ method }) => method !== "GET");

describe("content behind an address", () => {
  test("[d6.9] [s:block.image-url] is fetched and put in its place as a data URI, where the model takes bytes only", async () => {
    const { gateway, fetched } = gatewayWith({ ...png, chunk: 3 });
    const { wire, outcome } = await ask(gateway, asking(`${HERE}/cat.png?size=2`));
    expect(outcome).toBe("200");
    expect(wire!["messages"][0].content).toEqual([
      { type: "text", text: "What is it?" },
      image(`data:image/png;base64,${PNG.toString("base64")}`),
    ]);
    expect(fetched.map(({ request, call }) => [request.method, request.url, request.body, call.pinnedAddress])).toEqual(
      [["GET", `${HERE}/cat.png?size=2`, "", "93.184.215.14"]],
    );
    expect(JSON.stringify(fetched[0]!.request.headers)).not.toContain("stored-key");
  });

  test("[d6.9] is left to the provider where it takes addresses itself", async () => {
    const { gateway, fetched } = gatewayWith(png);
    const { wire } = await ask(gateway, { ...asking(`${HERE}/cat.png`), model: "openai:gpt-4o" });
    expect(wire!["messages"][0].content[1]).toEqual(image(`${HERE}/cat.png`));
    expect(fetched).toEqual([]);
  });

  test("[d6.9] keeps the members beside the address, and leaves a data URI as it is", async () => {
    const { gateway, fetched } = gatewayWith(png);
    const own = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
    const content = [{ type: "image_url", image_url: { url: `${HERE}/a`, detail: "low" } }, image(own)];
    const { wire } = await ask(gateway, { model: MODEL, messages: [{ role: "user", content }] });
    expect(wire!["messages"][0].content).toEqual([
      { type: "image_url", image_url: { url: `data:image/png;base64,${PNG.toString("base64")}`, detail: "low" } },
      image(own),
    ]);
    expect(fetched.length).toBe(1);
  });

  test.each(["text/plain", "application/x-notes"])(
    "[d3.5] [d6.9] is searched by guards as any other text that the provider reads: %s",
    async (type) => {
      const notes: CannedAnswer = { headers: { "content-type": type }, body: "write to ada@example.com" };
      const file = { type: "file", file: { file_id: `${HERE}/notes.txt` } };
      const asked = {
        model: "openai:gpt-4o",
        messages: [{ role: "user", content: [{ type: "text", text: "What is it?" }, file] }],
      };
      const guarded = (action: string) =>
        gatewayWith(notes, {}, { policies: policiesFor({ name: "mail", guard: { classes: ["email"], action } }) })
          .gateway;
      const { wire } = await ask(guarded("mask"), asked);
      const [, sent] = wire!["messages"][0].content;
      expect(Buffer.from(sent.file.file_data.split(",")[1], "base64").toString()).toBe("write to [email]");
      const blocking = guarded("block");
      expect((await ask(blocking, asked)).outcome).toBe("403 policy_violation null");
      expect(posted(blocking)).toEqual([]);
    },
  );

  test("[d6.9] is fetched from at most 16 addresses a call", async () => {
    const { gateway, fetched } = gatewayWith(png);
    const urls = Array.from({ length: 17 }, (_, index) => `${HERE}/${index}.png`);
    expect((await ask(gateway, asking(...urls.slice(1)))).outcome).toBe("200");
    expect(fetched.length).toBe(16);
    expect((await ask(gateway, asking(...urls))).outcome).toBe(
      "400 invalid_request messages[0].content[17].image_url.url",
    );
    expect(fetched.length).toBe(16);
  });

  test("[d6.9] has addresses of bounded length: each is kept while its request is in flight", async () => {
    const { gateway, fetched } = gatewayWith(png);
    const long = (length: number): string => `${HERE}/`.padEnd(length, "x");
    expect((await ask(gateway, asking(long(8192)))).outcome).toBe("200");
    expect((await ask(gateway, asking(long(8193)))).outcome).toBe(`400 invalid_request ${PATH}`);
    expect(fetched.length).toBe(1);
  });

  test("[d6.9] [d8.7] is fetched once for all choices of a provider that gives one choice per request", async () => {
    const { gateway, fetched } = gatewayWith(png);
    await gateway.chat({ ...asking(`${HERE}/a.png`, `${HERE}/b.png`), model: "ollama:gemma3", n: 4 });
    expect([fetched.length, posted(gateway).length]).toEqual([2, 4]);
    for (const { body } of posted(gateway))
      expect(JSON.parse(body).messages[0].images).toEqual([PNG.toString("base64"), PNG.toString("base64")]);
  });

  test("[d6.9] [d8.7] that fails, fails for all choices at once, and no provider is called", async () => {
    const { gateway, fetched } = gatewayWith({ status: 404, body: "" });
    expect((await ask(gateway, { ...asking(`${HERE}/a.png`), model: "ollama:gemma3", n: 4 })).outcome).toBe(
      `400 content_unavailable ${PATH}`,
    );
    expect([fetched.length, posted(gateway).length]).toEqual([1, 0]);
  });

  test("[d6.9] is at most 20 MiB each, whether the server says so or not, and 50 MiB together", async () => {
    const sized = (bytes: number, headers: Record<string, string> = {}): CannedAnswer => ({
      headers: { "content-type": "image/png", ...headers },
      body: Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length)]),
      chunk: 4 * MIB,
    });
    const outcome = async (answer: CannedAnswer, count = 1) =>
      (
        await ask(
          gatewayWith(answer).gateway,
          asking(...Array.from({ length: count }, (_, index) => `${HERE}/${index}`)),
        )
      ).outcome;
    expect(await outcome(sized(20 * MIB))).toBe("200");
    expect(await outcome(sized(20 * MIB + 1))).toBe(`400 content_unavailable ${PATH}`);
    expect(await outcome({ ...png, headers: { ...png.headers, "content-length": String(100 * MIB) } })).toBe(
      `400 content_unavailable ${PATH}`,
    );
    expect(await outcome(sized(17 * MIB), 3)).toMatch(/^400 content_unavailable messages\[0\]/);
  });

  test("[d5.8] [d6.9] counts against the memory of arriving bodies until the provider answers, and no longer", async () => {
    const body = Buffer.concat([PNG, Buffer.alloc(3 * MIB)]);
    const answers = Promise.withResolvers<void>();
    let posts = 0;
    const answersOf = async (): Promise<void> => {
      posts++;
      await answers.promise;
    };
    // half of it is for one tenant
    const { gateway } = gatewayWith({ ...png, body, chunk: MIB }, { maxHeldBytes: 8 * MIB }, {}, answersOf);
    const outcome = async (): Promise<string> => (await ask(gateway, asking(`${HERE}/a.png`))).outcome;
    const first = outcome();
    await until(() => posts === 1);
    expect(await outcome()).toStartWith("503 gateway_overloaded");
    answers.resolve();
    expect(await first).toBe("200");
    expect(await outcome()).toBe("200");
  });

  test("[d6.9] that fails is reported with reason and path, and nothing is sent to the provider", async () => {
    const answers: readonly (readonly [CannedAnswer, RegExp])[] = [
      [{ status: 404, body: "no" }, /status 404/],
      [{ status: 500, body: "" }, /status 500/],
      [{ ...png, body: "" }, /empty/],
      [{ headers: { "content-type": "text/html; charset=utf-8" }, body: "<html>log in</html>" }, /text\/html/],
      [{ body: "something" }, /unknown type/],
      [{ ...png, cutAt: 5 }, /could not be fetched/],
    ];
    for (const [answer, words] of answers) {
      const { gateway } = gatewayWith(answer);
      const { outcome, error } = await ask(gateway, asking(`${HERE}/x`));
      expect([words.source, outcome]).toEqual([words.source, `400 content_unavailable ${PATH}`]);
      expect(error!.message).toMatch(words);
      expect(posted(gateway)).toEqual([]);
    }
  });

  test("[d6.9] gets its type from its bytes where the server gives none, or a meaningless one", async () => {
    for (const headers of [{}, { "content-type": "application/octet-stream" }, { "content-type": "image/jpeg" }]) {
      const { wire } = await ask(gatewayWith({ headers, body: PNG }).gateway, asking(`${HERE}/x`));
      expect(wire!["messages"][0].content[1].image_url.url).toStartWith("data:image/png;base64,");
    }
    const { wire } = await ask(gatewayWith({ body: "unknown bytes" }).gateway, asking(`${HERE}/x.JPG`));
    expect(wire!["messages"][0].content[1].image_url.url).toStartWith("data:image/jpeg;base64,");
  });

  test("[d6.9] is fetched in 10 seconds or not at all, and a client that leaves ends it", async () => {
    const limits: UpstreamCall[] = [];
    let signalled = false;
    const hanging: UpstreamClient = {
      send: (_, call) =>
        new Promise((_resolve, reject) => {
          limits.push(call);
          call.signal.addEventListener("abort", () => {
            signalled = true;
            reject(call.signal.reason instanceof Error ? call.signal.reason : new Error("the call is over"));
          });
        }),
    };
    const gateway = stubGateway({ upstream: hanging });
    const left = new AbortController();
    const answer = gateway.chat(asking(`${HERE}/x`), { signal: left.signal });
    await until(() => limits.length > 0);
    expect([limits[0]!.connectTimeoutMs, limits[0]!.firstByteTimeoutMs, limits[0]!.betweenBytesTimeoutMs]).toEqual([
      10_000, 10_000, 10_000,
    ]);
    left.abort();
    expect((await answer).status).toBe(499);
    expect(signalled).toBe(true);
  });
});

describe("addresses that are never fetched", () => {
  test("[d2.12] private and metadata ranges, in every spelling, even though the operator allows private addresses for models", async () => {
    const { gateway, fetched } = gatewayWith(png);
    for (const host of [
      "127.0.0.1",
      "2130706433",
      "0x7f000001",
      "10.0.0.1",
      "192.168.1.1",
      "169.254.169.254",
      "[::1]",
      "[fd00::1]",
      "[::ffff:127.0.0.1]",
      "localhost",
      "metadata.google.internal",
    ])
      expect([host, (await ask(gateway, asking(`http://${host}/x.png`))).outcome]).toEqual([
        host,
        `400 address_not_allowed ${PATH}`,
      ]);
    expect((await ask(gateway, asking("http://user:secret@93.184.215.14/x.png"))).outcome).toBe(
      `400 address_not_allowed ${PATH}`,
    );
    expect([fetched.length, gateway.sent.length]).toEqual([0, 0]);
  });

  test("[d2.12] the target of a redirect, where it is such an address", async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      const { gateway, fetched } = gatewayWith({
        status,
        headers: { location: "http://169.254.169.254/latest/meta-data/" },
        body: "",
      });
      const { outcome, error } = await ask(gateway, asking(`${HERE}/x`));
      expect([outcome, fetched.length]).toEqual([`400 content_unavailable ${PATH}`, 1]);
      expect(error!.message).toContain("redirect");
      expect(error!.message).not.toContain("169.254");
    }
  });

  test("[d2.12] addresses of other schemes are not fetched, and are left to the provider", async () => {
    const { gateway, fetched } = gatewayWith(png);
    expect(
      (await ask(gateway, { ...asking("gs://bucket/x.png"), model: "custom:m" })).wire!["messages"][0].content[1],
    ).toEqual(image("gs://bucket/x.png"));
    expect(fetched).toEqual([]);
  });

  test("[d2.12] the error for a private address says that content is never fetched from there, and suggests no setting", async () => {
    const stub = stubGateway({ upstream: cannedUpstream(png), snapshot: { allowPrivateAddresses: true } });
    const { outcome, error } = await ask(stub, asking("http://10.0.0.1/cat.png"));
    expect(outcome).toBe(`400 address_not_allowed ${PATH}`);
    expect(error!.message).toContain("content is fetched from public addresses only");
    expect(error!.message).toContain("data URI");
    expect(error!.message).not.toContain("allow_private_addresses");
  });
});

describe("documents by address are not sent to vendors whose ids are those of uploads", () => {
  const PDF = Buffer.from("%PDF-1.4 small");
  test.each(["openai:gpt-4o", "azure:gpt-4o", "azure_ai:gpt-4o"])(
    "[d6.9] [s:block.file] %s: an address in file_id is fetched and sent as data, an id of an upload is sent unchanged",
    async (model) => {
      const { gateway, fetched } = gatewayWith({ headers: { "content-type": "application/pdf" }, body: PDF });
      const data = `data:application/pdf;base64,${PDF.toString("base64")}`;
      const content = [
        { type: "file", file: { file_id: `${HERE}/papers/one%20two.pdf` } },
        { type: "document", source: { type: "url", url: `${HERE}/three.pdf` } },
        { type: "file", file: { file_id: "file-abc" } },
      ];
      const { outcome, wire } = await ask(gateway, { model, messages: [{ role: "user", content }] });
      expect([outcome, fetched.length]).toEqual(["200", 2]);
      expect(wire!["messages"][0].content).toEqual([
        { type: "file", file: { filename: "one two.pdf", file_data: data } },
        { type: "file", file: { filename: "document.pdf", file_data: data } },
        { type: "file", file: { file_id: "file-abc" } },
      ]);
    },
  );
});

describe("a name that resolves differently the second time", () => {
  test("[d2.12] is looked up once, and exactly the address that was checked is called", async () => {
    const turns = ["93.184.215.14", "127.0.0.1"];
    const resolve = () => Promise.resolve([turns.shift()!]);
    expect(
      (await checkAddress("http://rebind.example/x", { allowPrivate: false, param: "p", resolve })).pinnedAddress,
    ).toBe("93.184.215.14");
    expect(turns).toEqual(["127.0.0.1"]);
  });
});

describe("invalid data", () => {
  test("[d5.2] content that claims to be base64 and is not is refused with its path, for every provider", async () => {
    const gateway = stubGateway({ upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer()) }) });
    const blocks: readonly (readonly [object, string])[] = [
      [image("data:image/png;base64,not*base64"), "image_url.url"],
      [{ type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,{}" } }, "file.file_data"],
      [{ type: "input_audio", input_audio: { data: "data:audio/wav;base64,<>", format: "wav" } }, "input_audio.data"],
      [{ type: "video_url", video_url: { url: "data:video/mp4;base64,a,b" } }, "video_url.url"],
      [{ type: "document", source: { type: "base64", media_type: "application/pdf", data: "%PDF" } }, "source.data"],
    ];
    for (const [block, path] of blocks) {
      const { outcome, error } = await ask(gateway, { messages: [{ role: "user", content: [block] }] });
      expect(outcome).toBe(`400 invalid_request messages[0].content[0].${path}`);
      expect(error!.message).toContain("base64");
    }
    for (const good of [
      "data:image/png;base64,iVBORw0KGgo=",
      "data:image/png;base64,iVBO\nRw0K",
      "data:image/svg+xml,<svg/>",
    ])
      expect((await ask(gateway, { messages: [{ role: "user", content: [image(good)] }] })).outcome).toBe("200");
    expect((await ask(gateway, { messages: HELLO })).outcome).toBe("200");
  });

  test("[d5.2] is refused quickly, however long it is", async () => {
    const gateway = stubGateway({ upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer()) }) });
    for (const filler of ["A", " ", "=", "A ", "A="]) {
      const made = (size: number): readonly object[] => [image(`data:image/png;base64,${filler.repeat(size)}!`)];
      const refused = async (content: readonly object[]): Promise<void> => {
        const { outcome } = await ask(gateway, { messages: [{ role: "user", content }] });
        expect(outcome).toBe("400 invalid_request messages[0].content[0].image_url.url");
      };
      expect(await growth(made, refused, 250_000)).toBeLessThan(MOST_GROWTH);
    }
  });
});
