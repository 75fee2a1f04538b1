// Pages of another origin in the browser of somebody who is logged in to the console: whatever they try with any endpoint of the gateway, as fetches,
// forms, images, scripts, frames, event streams and navigations, they read nothing and change nothing.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { describedOperations } from "../harness/admin-document.ts";
import { exampleRequest } from "../harness/admin-examples.ts";
import { chromiumProgram, type ConsolePage, launch, openConsole } from "../harness/chromium.ts";
import { ACME, type ConsoleWorld, openConsoleWorld, SITE } from "../harness/console-world.ts";

const program = chromiumProgram();

interface Aim {
  readonly method: string;
  /** A whole address. */
  readonly url: string;
  readonly body: string;
}

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
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: aim.url, target: frame.name, enctype: "text/plain" });
    const input = document.createElement("input");
    // JSON, with the sign between name and value in a text of it
    Object.assign(input, { name: aim.body.replace(/}$/, aim.body === "{}" ? "" : ",") + '"x":"', value: '"}' });
    form.append(input);
    document.body.append(form);
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
    world = await openConsoleWorld();
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
    readonly asked: string;
    readonly status: number;
    readonly isAllowed: boolean;
  }

  async function attacked(
    host: string,
    made: ConsolePage,
    tried: readonly Aim[],
  ): Promise<{ readonly read: readonly string[]; readonly answers: readonly Answer[] }> {
    const page = await made.page.context().newPage();
    const answers: Answer[] = [];
    page.on("response", (response) => {
      const url = response.url();
      const isAllowed = response.headers()["access-control-allow-origin"] !== undefined;
      if (url.startsWith(world.url))
        answers.push({
          asked: `${response.request().method()} ${url.slice(world.url.length)}`,
          status: response.status(),
          isAllowed,
        });
    });
    await page.goto(`http://${host}:${foreign.port}/`);
    const read = await page.evaluate<string[]>(`(${ATTACK})(${JSON.stringify(tried)})`);
    await page.close();
    return { read, answers };
  }

  // the browser counts another port of the same host as the same site, and sends its cookies along
  const parts = (host: string, count: number) =>
    Array.from({ length: count }, (_, part) => ({ host, count, part: part + 1 }));
  const hosts = [...parts("127.0.0.1", 4), ...parts("localhost", 2)];
  test.each(hosts)(
    "[d14.2] on the host $host, part $part of $count, read nothing and change nothing",
    async (attack) => {
      const { host, count, part } = attack;
      const made = await openConsole(browser, world.url);
      await made.open("/acme/site/tokens");
      await made.signIn(world.tokens.get("acme.owner")!);
      await made.settled();
      const before = await stored();
      // the API without the console takes no cookies, from whatever site
      const tried = aims
        .filter(({ url }) => host === "127.0.0.1" || url.includes("/console/"))
        .filter((_, at) => at % count === part - 1);
      const { read, answers } = await attacked(host, made, tried);
      console.log(`${host}, part ${part}: ${tried.length} endpoints, ${answers.length} answers`);
      const isPublic = ({ asked }: { readonly asked: string }): boolean => asked === "GET /api/v1/openapi.json";
      expect(read.filter((one) => !one.includes("/api/v1/openapi.json"))).toEqual([]);
      expect(answers.length).toBeGreaterThanOrEqual(tried.length);
      expect(answers.filter((one) => one.status < 400 && !isPublic(one))).toEqual([]);
      expect(answers.filter((one) => one.isAllowed && !isPublic(one))).toEqual([]);
      expect(await stored()).toEqual(before);
      // who is logged in still is
      await made.page.reload();
      await made.settled();
      await made.page.getByRole("heading", { name: "Tokens" }).waitFor();
      await made.close();
    },
  );
});
