// What people come to the console for: eight jobs, each as a script that does it by keyboard alone or by mouse, and that counts what a person
// does. A command by keys, a text with the Enter after it, and a control that is found and used are one action each.
import type { Locator } from "playwright-core";
import type { ConsolePage } from "./chromium.ts";
import { type Hands, handsOn, reach, type Way } from "./hands.ts";
import type { GatewayProcess } from "../processes/gateway-process.ts";
import { until } from "../time/until.ts";

export interface JobWorld {
  readonly gateway: GatewayProcess;
  readonly made: ConsolePage;
  /** An access token for the admin API, with the role owner in the tenant. */
  readonly token: string;
}

type Doing = JobWorld & Hands;

export interface ConsoleJob {
  readonly name: string;
  /** The page on which somebody begins, below the project. */
  readonly start: string;
  /** The most actions that it may take by keyboard, and by mouse where that is another number. */
  readonly actions: number;
  readonly mouseActions?: number;
  /** The most seconds on a quiet machine, where there is a goal. */
  readonly seconds?: number;
  /** What is there before somebody begins; it is not measured. What it gives is `prepared` for the rest. */
  readonly prepare?: (world: JobWorld) => Promise<string>;
  /** Ends when the answer is on the page. */
  readonly run: (doing: Doing, prepared: string) => Promise<void>;
  /** What the gateway has stored afterwards, and what that has to be. */
  readonly stored?: (world: JobWorld, prepared: string) => Promise<readonly [is: unknown, due: unknown]>;
  /** Takes away what would be in the way of the next job. */
  readonly tidy?: (world: JobWorld, prepared: string) => Promise<void>;
}

const TENANT = "/tenants/default";
const PROJECT = "/projects/default";
const SCOPE = "/default/default";
const DAY_MS = 86_400_000;
const HELLO = [{ role: "user", content: "Hello, Dragoman!" }];

async function admin({ gateway, token }: JobWorld, method: string, path: string, body?: object): Promise<any> {
  const answer = await fetch(`${gateway.url}/api/v1/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

/** A call that has ended and is in the database. */
async function called(world: JobWorld, body: object): Promise<{ readonly trace: string; readonly text: string }> {
  const answer = await world.gateway.chat({ messages: HELLO, ...body });
  const text = await answer.text();
  const trace = answer.headers.get("x-gateway-trace-id")!;
  await until(
    () =>
      admin(world, "GET", `/calls/${trace}`).then(
        () => true,
        () => false,
      ),
    "the call is in the database",
  );
  return { trace, text };
}

/** Names that no other run of a job has taken. */
const fresh = (word: string): string => `${word}-${crypto.randomUUID().slice(0, 8)}`;

async function needsSomebody(world: JobWorld, subject: string): Promise<void> {
  await until(async () => {
    const { data } = await admin(world, "GET", `${PROJECT}/attention`);
    return (data as { text: string }[]).some(({ text }) => text.includes(`"${subject}"`));
  }, `${subject} needs somebody`);
}

/** The line of the overview about something. */
const lineAbout = ({ made }: JobWorld, name: string): Locator =>
  made.page.locator(".matters li", { hasText: `"${name}"` });

const menu = ({ made }: JobWorld, title: string): Locator =>
  made.page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: title, exact: true });

const FIRST_CALL: ConsoleJob = {
  name: "The first call works",
  start: "/calls",
  actions: 2,
  seconds: 60,
  async run(doing) {
    const { made, gateway, command, act } = doing;
    const { page } = made;
    await command(["g", "f"], menu(doing, "First call"));
    await page.getByText("Waiting for a call").waitFor();
    const text = (await page.locator("main .panel pre.code").first().textContent())!;
    // the command is run in a terminal
    const run = async (): Promise<void> => {
      const child = Bun.spawn(["bash", "-c", text], {
        env: { ...process.env, DRAGOMAN_TOKEN: gateway.firstToken ?? "" },
        stdout: "ignore",
        stderr: "ignore",
      });
      await child.exited;
    };
    await act({ keyboard: run, mouse: run });
    await page.getByText("A call has arrived.").waitFor();
    await page.locator("main .headline, main .verdict").first().waitFor();
  },
  async stored(world) {
    const shown = await world.made.page.locator("main").textContent();
    const { data } = await admin(world, "GET", `${PROJECT}/logs?limit=1`);
    return [
      [shown!.includes(data[0].trace_id), data[0].status],
      [true, 200],
    ];
  },
};

const WHY_FAILED: ConsoleJob = {
  name: "Why did this call fail",
  start: "/calls",
  actions: 1,
  seconds: 5,
  prepare: async (world) => (await called(world, { model: "sandbox:fail-429" })).text,
  async run({ made, act }, error) {
    const { page } = made;
    const trace = /[0-9a-f]{32}/.exec(error)![0];
    const paste = async (): Promise<void> => {
      // as a terminal or a mail has put it there
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(error)})`);
      await page.keyboard.press("Control+v");
    };
    await act({ keyboard: paste, mouse: () => page.locator(`tr.row:has(a[href*="${trace}"])`).click() });
    await page.locator("main .verdict", { hasText: "429" }).first().waitFor();
  },
  async stored(world, error) {
    const { trace_id, status } = await admin(world, "GET", `/calls/${/[0-9a-f]{32}/.exec(error)![0]}`);
    return [
      [world.made.page.url().includes(trace_id), status],
      [true, 429],
    ];
  },
};

const WHO_SPENDS: ConsoleJob = {
  name: "Who spends what, by project and model",
  start: "/calls",
  actions: 2,
  prepare: async (world) => (await called(world, { model: "sandbox:words-7" })).trace,
  async run(doing) {
    const { made, command, choose } = doing;
    const { page } = made;
    await command(["g", "u"], menu(doing, "Usage"));
    await page.getByRole("table", { name: /Usage/ }).first().waitFor();
    await choose(page.getByLabel("and by"), "model");
    await page
      .getByRole("table", { name: /and model/ })
      .getByRole("row", { name: /words-7/ })
      .first()
      .waitFor();
  },
  async stored(world) {
    await world.made.settled();
    const row = world.made.page.getByRole("table", { name: /and model/ }).getByRole("row", { name: /words-7/ });
    const shown = await row.first().getByRole("link").last().textContent();
    const from = new Date(Date.now() - DAY_MS).toISOString();
    const { data } = await admin(world, "GET", `${PROJECT}/usage?group_by=model&from=${from}`);
    const due = data.find(({ group }: { group: { model: string } }) => group.model === "words-7");
    return [shown!.replaceAll(/\D/g, ""), String(due.calls)];
  },
};

const GIVE_TOKEN: ConsoleJob = {
  name: "Give a program an access token",
  start: "/calls",
  actions: 2,
  mouseActions: 3,
  prepare: () => Promise.resolve(fresh("nightly")),
  async run(doing, name) {
    const { made, way, command, use, type } = doing;
    const { page } = made;
    await command(["T"], menu(doing, "Tokens"));
    if (way === "mouse") await use(page.getByRole("button", { name: "New token" }));
    await type(page.getByLabel("Name", { exact: true }), name, { sends: true });
    await page
      .getByRole("dialog", { name: `The token ${name}` })
      .locator(".secret")
      .waitFor();
  },
  async stored({ gateway, made, token }, name) {
    const { page } = made;
    const secret = (await page.locator(".secret").textContent())!;
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByRole("link", { name }).waitFor();
    const world = { gateway, made, token };
    const { data } = await admin(world, "GET", `${PROJECT}/tokens?search=${name}`);
    const models = await fetch(`${gateway.url}/api/v1/models`, { headers: { authorization: `Bearer ${secret}` } });
    await models.text();
    const isShown = (await page.content()).includes(secret);
    return [
      [data.length, data[0].role, models.status, isShown],
      [1, "developer", 200, false],
    ];
  },
};

const ROUTES_TARGETS = ["sandbox:echo", "sandbox:words-7"] as const;

const CHANGE_ROUTE: ConsoleJob = {
  name: "Change a route safely, and go back",
  start: "/routes",
  actions: 5,
  async prepare(world) {
    const name = fresh("route");
    await admin(world, "POST", `${PROJECT}/routes`, { name, targets: ROUTES_TARGETS });
    for (const _ of [1, 2, 3]) await called(world, { route: name });
    return name;
  },
  async run({ made, use, act, type }, name) {
    const { page } = made;
    await use(page.getByRole("link", { name, exact: true }));
    const simulation = page.getByRole("region", { name: "Simulation" });
    await simulation.getByText("sandbox:echo").first().waitFor();
    const first = page.getByLabel("Model of target 1");
    await act({
      keyboard: async () => {
        await reach(made, first);
        await page.keyboard.press("Alt+ArrowDown");
      },
      mouse: () => page.getByLabel("Move target 1 down").click(),
    });
    await simulation.getByText("100 % of the calls change their target").waitFor();
    await use(page.getByRole("button", { name: "Look at the change and publish" }).and(page.locator(":enabled")));
    const dialog = page.getByRole("dialog", { name: `Publish ${name}` });
    await dialog.getByText("sandbox:words-7 moves before sandbox:echo.").waitFor();
    await type(dialog.getByLabel("Why, for the list of versions"), "Words first", { sends: true });
    const strip = page.getByRole("region", { name: "Published" });
    await strip.getByText("Five minutes before").waitFor();
    await use(strip.getByRole("button", { name: "Go back" }));
    await strip.waitFor({ state: "detached" });
    await until(async () => (await first.inputValue()) === ROUTES_TARGETS[0], "the editor shows what holds again");
  },
  async stored(world, name) {
    const { targets } = await admin(world, "GET", `${PROJECT}/routes/${name}`);
    const { data } = await admin(world, "GET", `${PROJECT}/routes/${name}/versions`);
    const notes = data.map(({ note }: { note: string | null }) => note).slice(0, 2);
    return [
      [targets, notes],
      [ROUTES_TARGETS, [`Back to version ${data.at(-1).number}`, "Words first"]],
    ];
  },
  tidy: (world, name) => admin(world, "DELETE", `${PROJECT}/routes/${name}`),
};

const RAISED_TOKENS = 900_000_000;

const RAISE_BUDGET: ConsoleJob = {
  name: "A budget is about to be used up",
  start: "/",
  actions: 2,
  async prepare(world) {
    const name = fresh("budget");
    // whatever the time is, the present rate uses it up before it ends, because it has no end
    await admin(world, "POST", `${PROJECT}/budgets`, { name, tokens: 500_000_000, window: "total" });
    await called(world, { model: "sandbox:words-7" });
    await needsSomebody(world, name);
    return name;
  },
  async run(doing, name) {
    const { made, use, type } = doing;
    const line = lineAbout(doing, name);
    await line.getByText("will be used up at the present rate").waitFor();
    await use(line.getByRole("button", { name: "Change the amount" }));
    await type(made.page.getByLabel("Tokens", { exact: true }), String(RAISED_TOKENS), { sends: true });
    await made.page.getByRole("dialog").waitFor({ state: "detached" });
  },
  stored: async (world, name) => [(await admin(world, "GET", `${PROJECT}/budgets/${name}`)).tokens, RAISED_TOKENS],
  tidy: (world, name) => admin(world, "DELETE", `${PROJECT}/budgets/${name}`),
};

const FAILURES = 5;

const DRAIN_PROVIDER: ConsoleJob = {
  name: "A provider is down",
  start: "/",
  actions: 2,
  async prepare(world) {
    const name = fresh("provider");
    await admin(world, "POST", `${TENANT}/providers`, { name, type: "sandbox" });
    await admin(world, "POST", `${PROJECT}/routes`, { name, targets: [`${name}:echo`, "sandbox:echo"] });
    for (let at = 0; at < FAILURES; at++) await called(world, { model: `${name}:fail-503` });
    await needsSomebody(world, name);
    return name;
  },
  async run(doing, name) {
    const { made, use } = doing;
    const line = lineAbout(doing, name).filter({ hasText: "The provider" });
    await line.getByText(`It is a target of the route "${name}"`).waitFor();
    await use(line.getByRole("button", { name: "Drain for a time" }));
    const dialog = made.page.getByRole("dialog", { name: `Drain ${name}` });
    await use(dialog.getByRole("button", { name: "Drain", exact: true }));
    await dialog.waitFor({ state: "detached" });
  },
  async stored(world, name) {
    const { data } = await admin(world, "GET", `${TENANT}/drains`);
    const drain = data.find(({ provider }: { provider: string }) => provider === name);
    const answer = await world.gateway.chat({ route: name, messages: HELLO });
    const { model } = (await answer.json()) as { model: string };
    const minutes = Math.round((Date.parse(drain.until) - Date.now()) / 60_000);
    return [
      [model, minutes > 50 && minutes <= 60],
      ["sandbox:echo", true],
    ];
  },
  async tidy(world, name) {
    await admin(world, "DELETE", `${TENANT}/providers/${name}/drain`);
    await admin(world, "DELETE", `${PROJECT}/routes/${name}`);
    await admin(world, "DELETE", `${TENANT}/providers/${name}`);
  },
};

const SHOW_AUDITOR: ConsoleJob = {
  name: "Show an auditor who made a token",
  start: "/calls",
  actions: 3,
  async prepare(world) {
    const name = fresh("audited");
    await admin(world, "POST", `${PROJECT}/tokens`, { name });
    return name;
  },
  async run(doing, name) {
    const { made, command, type, use } = doing;
    const { page } = made;
    await command(["g", "a"], menu(doing, "Audit"));
    await page.getByRole("heading", { name: "Audit", exact: true }).waitFor();
    await made.settled();
    await type(page.getByLabel("Kind", { exact: true }), "token");
    await until(() => new URL(page.url()).searchParams.get("kind") === "token", "the filter is in the address");
    await made.settled();
    const entry = page.locator(".history > li", { hasText: name });
    await use(entry.locator("summary"));
    await entry.locator("dl.facts").waitFor();
  },
  async stored(world, name) {
    const shown = await world.made.page.locator(".history > li", { hasText: name }).textContent();
    const { data } = await admin(world, "GET", `${PROJECT}/audit?kind=token`);
    return [
      [shown!.includes(data[0].actor.user_id), data[0].action],
      [true, "create"],
    ];
  },
};

export const CONSOLE_JOBS: readonly ConsoleJob[] = [
  FIRST_CALL,
  WHY_FAILED,
  WHO_SPENDS,
  GIVE_TOKEN,
  CHANGE_ROUTE,
  RAISE_BUDGET,
  DRAIN_PROVIDER,
  SHOW_AUDITOR,
];

export interface DoneJob {
  readonly actions: number;
  readonly ms: number;
}

/** What a job may take at most in one way. */
export const mostActions = ({ actions, mouseActions = actions }: ConsoleJob, way: Way): number =>
  way === "mouse" ? mouseActions : actions;

/** Does a job from its beginning to its end, and fails where the gateway has not stored what the page says. */
export async function doneJob(job: ConsoleJob, world: JobWorld, way: Way = "keyboard"): Promise<DoneJob> {
  const { made } = world;
  const prepared = (await job.prepare?.(world)) ?? "";
  // loaded anew, so that nothing was read for it before
  await made.open(SCOPE + job.start);
  await made.settled();
  let actions = 0;
  const startedMs = performance.now();
  await job.run({ ...world, ...handsOn(made, way, () => void actions++) }, prepared);
  const ms = performance.now() - startedMs;
  const [is, due] = (await job.stored?.(world, prepared)) ?? [null, null];
  if (!Bun.deepEquals(is, due))
    throw new Error(`${job.name}: the gateway has ${JSON.stringify(is)}, and not ${JSON.stringify(due)}`);
  await job.tidy?.(world, prepared);
  return { actions, ms };
}
