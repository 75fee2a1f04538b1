// Pages of another origin in the browser of somebody who is logged in to the console: whatever they try with any endpoint of the gateway, as fetches,
// forms, images, scripts, frames, event streams, and navigations of the whole tab, they read nothing and change nothing.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { describedOperations } from "../../harness/admin-document.ts";
import { exampleRequest } from "../../harness/admin-examples.ts";
import { chromiumProgram, launch, openConsole } from "../../harness/console/chromium.ts";
import { ACME, type ConsoleWorld, openConsoleWorld, SITE } from "../../harness/console/world.ts";
import { drawCount, drawnParts } from "../../harness/time/long-run.ts";

const program = chromiumProgram();
/** As many as go on at once where whole tabs are left. */
const TABS = 6;

interface Aim {
  readonly method: string;
  /** A whole address. */
  readonly url: string;
  readonly body: string;
}

/** A form in the foreign page that sends JSON, with the sign between name and value in a text of it. */
const POST_FORM = `(aim, target) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: aim.url, target, enctype: "text/plain" });
  const input = document.createElement("input");
  Object.assign(input, { name: aim.body.replace(/}$/, aim.body === "{}" ? "" : ",") + '"x":"', value: '"}' });
  form.append(input);
  document.body.append(form);
  return form;
}`;

/** How a foreign page sends the whole tab, or another one, to an endpoint that is read. */
const LEAVINGS: readonly (readonly [how: string, leave: string])[] = [
  [
    "a link",
    `(aim) => document.body.appendChild(Object.assign(document.createElement("a"), { href: aim.url })).click()`,
  ],
  ["another location", `(aim) => void (location.href = aim.url)`],
  [
    "a refresh",
    `(aim) => document.head.append(Object.assign(document.createElement("meta"), { httpEquiv: "refresh", content: "0;url=" + aim.url }))`,
  ],
  ["another tab", `(aim) => void window.open(aim.url)`],
];
const POSTED = `(aim) => (${POST_FORM})(aim, "_self").submit()`;

/** Runs in the foreign page, with `aims`; gives what it could read. */
const ATTACK = `async (aims) => {
  const AT_ONCE = 12;
  const read = [];
  const got = (how, aim, text) => read.push(how + " " + aim.method + " " + aim.url + ": " + String(text).slice(0, 80));
  const within = (promise) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, 10000))]);
  const ended = (element, ...events) => new Promise((resolve) => events.forEach((name) => element.addEventListener(name, () => resolve(name))));
  const fetched = async (how, aim, options) => {
    try {
      const text = await (await fetch(aim.url, { credentials: "include", ...options })).text();
      if (text !== "") got(how, aim, text);
    } catch {}
  };
  const placed = async (how, aim, tag) => {
    const element = document.createElement(tag);
    const end = ended(element, "load", "error");
    element.src = aim.url;
    document.body.append(element);
    if ((await within(end)) === "load") got(how, aim, "it was loaded");
    element.remove();
  };
  // frames that stay, because the browser would begin a process for each new one
  const frames = Array.from({ length: AT_ONCE }, (_, at) => {
    const frame = document.createElement("iframe");
    frame.name = "frame" + at;
    document.body.append(frame);
    return frame;
  });
  const framed = async (aim, frame) => {
    const end = ended(frame, "load", "error");
    frame.src = aim.url;
    await within(end);
    try {
      if (frame.contentDocument.body.textContent !== "") got("frame", aim, frame.contentDocument.body.textContent);
    } catch {}
  };
  const streamed = async (aim) => {
    const source = new EventSource(aim.url, { withCredentials: true });
    source.addEventListener("message", ({ data }) => got("event stream", aim, data));
    const event = await within(ended(source, "open", "error"));
    if (event === "open") got("event stream", aim, "it was opened");
    source.close();
  };
  const posted = async (aim, frame) => {
    const form = (${POST_FORM})(aim, frame.name);
    const end = ended(frame, "load", "error");
    form.submit();
    await within(end);
    form.remove();
  };
  const each = async (aim, frame) => {
    const { method, body } = aim;
    const isRead = method === "GET";
    const json = { "content-type": "application/json" };
    await Promise.all([
      fetched("fetch", aim, { method, ...(!isRead && { headers: json, body }) }),
      fetched("fetch with the console's header", aim, { method, headers: { ...json, "x-gateway-console": "1" }, ...(!isRead && { body }) }),
      fetched("fetch without cors", aim, { method: isRead ? "GET" : "POST", mode: "no-cors", ...(!isRead && { body }) }),
      ...(isRead
        ? [placed("image", aim, "img"), placed("script", aim, "script"), framed(aim, frame), streamed(aim)]
        : [posted(aim, frame)]),
    ]);
  };
  for (let at = 0; at < aims.length; at += AT_ONCE)
    await Promise.all(aims.slice(at, at + AT_ONCE).map((aim, by) => each(aim, frames[by])));
  return read;
}`;

describe.skipIf(program === null)("pages of another origin", () => {
  let world: ConsoleWorld;
  let browser: Browser;
  let foreign: ReturnType<typeof Bun.serve>;
  let aims: readonly Aim[];
  beforeAll(async () => {
    world = await openConsoleWorld({ answered: note });
    browser = await launch(program!);
    foreign = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () =>
        new Response("<!doctype html><title>Foreign</title><p>Look at this.", {
          headers: { "content-type": "text/html" },
        }),
    });
    aims = await allAims();
  });
  afterAll(async () => {
    await browser?.close();
    await foreign?.stop(true);
    await world?.close();
  });

  /** Every operation of the API, by session and without, and what the console has of its own. */
  async function allAims(): Promise<readonly Aim[]> {
    const { body: document } = await world.send(null, "GET", "/api/v1/openapi.json");
    const administered = describedOperations(document).map((operation) => {
      const place = operation.path.includes("{project}") ? SITE : ACME;
      const { method, path, body } = exampleRequest(operation, place, world.values, "acme");
      // for earnest
      return { method, path: path.replace("dry_run=true", ""), body: JSON.stringify(body ?? {}) };
    });
    const others = Object.entries<object>(document.paths).flatMap(([path, item]) =>
      Object.entries<any>(item)
        .filter(([, of]) => of["x-required-role"] === undefined)
        .map(([method]) => ({ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, "x"), body: "{}" })),
    );
    const own = [
      ["GET", "/console/api/me"],
      ["POST", "/console/api/session"],
      ["DELETE", "/console/api/session"],
      ["POST", "/console/api/claims"],
    ].map(([method, path]) => ({ method: method!, path: path!, body: JSON.stringify({ token: "x", code: "x" }) }));
    const both = [...administered, ...others].flatMap((one) => [one, { ...one, path: `/console${one.path}` }]);
    return [...own, ...both].map(({ path, ...aim }) => ({ ...aim, url: world.url + path }));
  }

  /** Everything that the database has. */
  async function stored(): Promise<Readonly<Record<string, readonly string[]>>> {
    const tables = await world.read("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'");
    const rows = await Promise.all(
      tables.map(async ({ name }) => {
        const found = await world.read(`select * from "${String(name)}"`);
        return [String(name), found.map((row) => JSON.stringify(row)).toSorted()] as const;
      }),
    );
    return Object.fromEntries(rows);
  }

  interface Answer {
    readonly method: string;
    /** Without the query. */
    readonly path: string;
    readonly status: number;
    /** Whether pages of another origin may read it. */
    readonly isAllowed: boolean;
  }
  /** Those of the gateway since a test began to attack; the browser does not tell of all that its frames get. */
  let answers: Answer[] = [];

  const foreignPage = (host: string): string => `http://${host}:${foreign.port}/`;

  function note({ method, url }: Request, { status, headers }: Response): void {
    const isAllowed = headers.has("access-control-allow-origin");
    answers.push({ method, path: new URL(url).pathname, status, isAllowed });
  }

  /** From within one page that stays. Gives what it could read. */
  async function attacked(host: string, context: BrowserContext, tried: readonly Aim[]): Promise<readonly string[]> {
    const page = await context.newPage();
    await page.goto(foreignPage(host));
    const read = await page.evaluate<string[]>(`(${ATTACK})(${JSON.stringify(tried)})`);
    await page.close();
    return read;
  }

  async function openedBy(page: Page): Promise<Page> {
    const other = await page.waitForEvent("popup");
    await other.waitForLoadState("load");
    return other;
  }

  /** By pages that are left for each endpoint, in one way after the other; in a long run in each. Gives what did not arrive there. */
  async function left(host: string, context: BrowserContext, tried: readonly Aim[]): Promise<readonly string[]> {
    const stayed: string[] = [];
    const waiting = tried.flatMap((aim, at) => {
      if (aim.method === "POST") return [{ how: "a form", leave: POSTED, aim }];
      return Array.from({ length: drawCount(1, LEAVINGS.length) }, (_, by) => {
        const [how, leave] = LEAVINGS[(at + by) % LEAVINGS.length]!;
        return { how, leave, aim };
      });
    });
    const leaving = async (): Promise<void> => {
      const page = await context.newPage();
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { how, leave, aim } = next;
        await page.goto(foreignPage(host));
        const arrived = how === "another tab" ? openedBy(page) : page.waitForEvent("load");
        // what leaves the page has no result
        const sent = page.evaluate(`(${leave})(${JSON.stringify(aim)})`).catch(() => {});
        const there = await arrived.catch(() => page);
        await sent;
        if (there.url() !== aim.url) stayed.push(`${how}: ${aim.method} ${aim.url}`);
        if (there !== page) await there.close();
      }
      await page.close();
    };
    await Promise.all(Array.from({ length: TABS }, leaving));
    return stayed;
  }

  // the browser counts another port of the same host as the same site, and sends its cookies along
  const parts = (host: string, count: number) =>
    Array.from({ length: count }, (_, part) => ({ host, count, part: part + 1 }));
  const hosts = [
    ...drawnParts("endpoints by address", parts("127.0.0.1", 4)),
    ...drawnParts("endpoints by name", parts("localhost", 2)),
  ];
  /** What somebody who is logged in has afterwards is what was there before, and nothing was answered but with a refusal. */
  async function harmless(
    host: string,
    tried: readonly Aim[],
    attack: (context: BrowserContext) => Promise<readonly string[]>,
  ): Promise<void> {
    const made = await openConsole(browser, world.url);
    await made.open("/acme/site/tokens");
    await made.signIn(world.tokens.get("acme.owner")!);
    await made.settled();
    // what the console itself reads again would be written as the last use of the session
    await made.page.goto("about:blank");
    const context = made.page.context();
    const before = await stored();
    answers = [];
    const found = await attack(context);
    console.log(`${host}: ${tried.length} endpoints, ${answers.length} answers`);
    const isPublic = ({ path }: Answer): boolean => path === "/api/v1/openapi.json";
    const isQuestion = ({ method }: Answer): boolean => method === "OPTIONS";
    expect(found.filter((one) => !one.includes("/api/v1/openapi.json"))).toEqual([]);
    const reached = new Set(answers.filter((one) => !isQuestion(one)).map(({ path }) => path));
    expect(tried.map(({ url }) => new URL(url).pathname).filter((path) => !reached.has(path))).toEqual([]);
    expect(answers.filter((one) => one.status < 400 && !isPublic(one) && !isQuestion(one))).toEqual([]);
    expect(answers.filter((one) => one.isAllowed && !isPublic(one))).toEqual([]);
    expect(await stored()).toEqual(before);
    // who is logged in still is
    await made.open("/acme/site/tokens");
    await made.settled();
    await made.page.getByRole("heading", { name: "Tokens" }).waitFor();
    await made.close();
  }

  test.each(hosts)(
    "[d14.2] on the host $host, part $part of $count, read nothing and change nothing",
    async ({ host, count, part }) => {
      // the API without the console takes no cookies, from whatever site
      const tried = aims
        .filter(({ url }) => host === "127.0.0.1" || url.includes("/console/"))
        .filter((_, at) => at % count === part - 1);
      await harmless(host, tried, (context) => attacked(host, context, tried));
    },
  );

  test.each([...parts("127.0.0.1", drawCount(1, 4)), ...parts("localhost", drawCount(1, 4))])(
    "[d14.2] on the host $host, part $part of $count, read and change nothing by leading the whole tab to an endpoint",
    async ({ host, count, part }) => {
      const tried = aims
        .filter(({ method, url }) => url.includes("/console/") && (method === "GET" || method === "POST"))
        .filter((_, at) => at % count === part - 1);
      await harmless(host, tried, (context) => left(host, context, tried));
    },
  );
});
