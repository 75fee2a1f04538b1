// "As code" of the console: each page of every screen shows a command and a request, which are carried out against the
// real gateway and tell the same.
import { afterAll, expect, test } from "bun:test";
import { CONSOLE_SCREENS } from "../../harness/console/screens.ts";
import { consoleVisits } from "../../harness/console/visits.ts";
import { openCommandShell } from "../../harness/shown-commands.ts";
import { until } from "../../harness/time/until.ts";

/** Every tab of a screen is a page. */
const TABS: Readonly<Record<string, readonly string[]>> = {
  "/settings": ["integrations", "sessions", "console", "about"],
  "/people": ["sessions", "logins"],
  "/audit": ["as-of"],
};
const AT_ONCE = 3;

consoleVisits("what the console shows as code", {}, (visits) => {
  const shell = openCommandShell();
  afterAll(() => shell.close());
  const asOwner = () => ({ url: visits.gateway.url, token: visits.owner });
  const json = async (command: string): Promise<any> => JSON.parse(await shell.run(command, asOwner()));

  /** The text of a stream, whether its chunks are events or lines. */
  const streamed = (text: string): string =>
    text
      .split("\n")
      .map((line) => line.replace(/^data: /, ""))
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line).choices[0]?.delta?.content ?? "")
      .join("");

  /** Without what is different at each reading. */
  const steady = (value: unknown): string =>
    JSON.stringify(value, (name, one: unknown) =>
      /^(at|as_of|seen_at|idle_ends_at|\w*_ms)$/.test(name) ? undefined : one,
    );

  test("[d14.1] every page shows a command and a request, which tell the same", async () => {
    const { gateway, admin } = visits;
    await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] });
    for (const [noun, body] of [
      ["routes", { name: "chat", targets: ["sandbox:echo"] }],
      ["policies", { name: "quiet", rule: 'request.tool_names.exists(name, name == "pay")' }],
      ["budgets", { name: "month", tokens: 1_000_000, window: "month" }],
      ["prices", { name: "own", model: "sandbox:*", prompt: "1" }],
    ] as const)
      expect((await admin("POST", `/projects/default/${noun}`, body)).status).toBe(201);
    const id = async (path: string): Promise<string> => (await visits.read(path)).data[0].id as string;
    await until(async () => (await visits.read("/projects/default/calls")).data.length > 0, "the call is recorded");
    const one: Readonly<Record<string, string>> = {
      "/calls": (await visits.read("/projects/default/calls")).data[0].trace_id as string,
      "/routes": await id("/projects/default/routes"),
      "/policies": await id("/projects/default/policies"),
      "/prices": await id("/projects/default/prices"),
      "/limits": await id("/projects/default/budgets"),
      "/tokens": await id("/projects/default/tokens"),
      "/providers": "sandbox",
    };
    const pages = [
      ...CONSOLE_SCREENS.flatMap(({ path, title }) => [
        { title, path: `/default/default${path}` },
        ...(one[path] === undefined
          ? []
          : [{ title, path: `/default/default${path}/${encodeURIComponent(one[path])}` }]),
        ...(TABS[path] ?? []).map((tab) => ({ title, path: `/default/-${path}?tab=${tab}` })),
      ]),
      { title: "People", path: "/default/-/people" },
      { title: "People", path: "/default/-/people/owner" },
      { title: "Tokens", path: "/default/-/tokens" },
      { title: "Settings", path: "/default/-/settings" },
      { title: "Usage", path: "/-/-/usage" },
      { title: "Calls", path: "/-/-/calls" },
      { title: "Overview", path: "/-/-/" },
    ];
    const shown: {
      readonly path: string;
      readonly title: string;
      readonly command: string;
      readonly request: string;
    }[] = [];
    const visit = await visits.signedIn("/default/default/calls");
    const lacking: string[] = [];
    for (const { title, path } of pages) {
      await visit.go(path);
      await visit.settled();
      const menus = await visit.page.locator("main .as-code").all();
      if (menus.length === 0) lacking.push(path);
      for (const menu of menus) {
        const texts = await menu.locator("pre").allTextContents();
        if (texts.length !== 2) lacking.push(`${path}: ${texts.join(" | ")}`);
        else shown.push({ path, title, command: texts[0]!, request: texts[1]! });
      }
    }
    expect(lacking).toEqual([]);
    const different: string[] = [];
    const compare = async ({ path, title, command, request }: (typeof shown)[number]): Promise<void> => {
      try {
        const sent = request.replace("curl ", "curl -sS --fail-with-body ");
        const [asked, told] =
          title === "Playground"
            ? [streamed(await shell.run(sent, asOwner())), streamed(await shell.run(`${command} --json`, asOwner()))]
            : [await json(sent), await json(`${command} --json`)];
        const expected: unknown = Array.isArray(told) ? asked.data : asked;
        if (steady(told) !== steady(expected))
          different.push(`${path}: ${command}\n${steady(told).slice(0, 400)}\n${steady(expected).slice(0, 400)}`);
      } catch (thrown) {
        different.push(`${path}: ${(thrown as Error).message.slice(0, 600)}`);
      }
    };
    const unique = [...new Map(shown.map((each) => [`${each.command} ${each.request}`, each])).values()];
    // a call of the playground changes what others list, so it is made last
    const waiting = unique.filter(({ title }) => title !== "Playground");
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await compare(next);
      }),
    );
    for (const each of unique.filter(({ title }) => title === "Playground")) await compare(each);
    expect(different).toEqual([]);
  });
});
