// What people of every role see in the console, in a real browser: each screen in each scope shows what the role allows and asks for
// nothing more, or says that it may not be seen. Nothing of another tenant reaches the browser.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { type Role, ROLES, roleAtLeast } from "../../../src/core/identity.ts";
import { type ConfigurationScope, LOCAL_ACTOR } from "../../../src/store/records.ts";
import { rowOf } from "../../contract/store/call-records.ts";
import { describedOperations } from "../../harness/admin-document.ts";
import { chromiumProgram, type ConsolePage, launch, openConsole } from "../../harness/console/chromium.ts";
import { CONSOLE_SCREENS, type ConsoleScreen } from "../../harness/console/screens.ts";
import {
  ACME,
  APP,
  BETA,
  type ConsoleWorld,
  LAB,
  openConsoleWorld,
  pagesOf,
  SITE,
} from "../../harness/console/world.ts";

const program = chromiumProgram();

interface Caller {
  readonly name: string;
  /** Marks of what the caller must not see. */
  readonly hidden: readonly string[];
  readonly places: readonly ConfigurationScope[];
  roleIn(place: ConfigurationScope): Role | null;
}

const BETAS = "mark-of-beta";
const APPS = "mark-of-app";
const inAcme =
  (role: Role) =>
  ({ tenantId }: ConfigurationScope): Role | null =>
    tenantId === "acme" ? role : null;
const CALLERS: readonly Caller[] = [
  ...ROLES.map((role) => ({
    name: `acme.${role}`,
    hidden: [BETAS],
    places: [ACME, SITE, LAB],
    roleIn: inAcme(role),
  })),
  {
    name: "site-only.maintainer",
    hidden: [BETAS, APPS],
    places: [ACME, SITE, APP, BETA],
    roleIn: ({ projectId }) => (projectId === "site" ? "maintainer" : null),
  },
  { name: "default.owner", hidden: [], places: [BETA, LAB], roleIn: () => "owner" },
];

type Seen = "shown" | "not allowed" | "problem" | "nothing";

describe.skipIf(program === null)("people of every role in the console", () => {
  let world: ConsoleWorld;
  let browser: Browser;
  let roles: ReadonlyMap<string, Role>;
  beforeAll(async () => {
    world = await openConsoleWorld();
    const document = await world.send(null, "GET", "/api/v1/openapi.json");
    roles = new Map(describedOperations(document.body).map(({ operationId, role }) => [operationId, role]));
    const marked = [
      [BETA, BETAS],
      [LAB, BETAS],
      [APP, APPS],
    ] as const;
    await world.store.change(LOCAL_ACTOR, async (writer) => {
      await writer.createUser({ id: BETAS, tenantId: "beta", name: BETAS });
      for (const [place, name] of marked)
        for (const [kind, configured] of [
          ["route", { targets: ["sandbox:echo"] }],
          ["budget", { usd: "1", window: "day" }],
          ["price", { model: `sandbox:${name}`, prompt: "1" }],
        ] as const)
          await writer.createResource({ kind, ...place, name, document: configured });
    });
    const projects = marked.flatMap(([place, name]) => (place.projectId === null ? [] : [[place, name] as const]));
    await world.calls.ingest(
      projects.map(([place, name]) =>
        rowOf({ ...place, projectId: place.projectId!, startedAtMs: Date.now() - 1000, endUser: name, route: name }),
      ),
    );
    await world.source.reload();
    browser = await launch(program!);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  function due({ needs }: Pick<ConsoleScreen, "needs">, caller: Caller, place: ConfigurationScope): Seen | null {
    const role = caller.roleIn(place);
    // what needs no operation of the admin API asks for a role in the project, and in a tenant for a choice of one
    if (needs === null) return role !== null ? "shown" : place.projectId === null ? null : "not allowed";
    const least = roles.get(needs.replace("*", place.projectId === null ? "Tenant" : "Project"));
    return role !== null && least !== undefined && roleAtLeast(role, least) ? "shown" : "not allowed";
  }

  async function seen({ page }: ConsolePage): Promise<Seen> {
    const main = page.locator("main");
    if ((await main.locator("h1").count()) === 0) return "nothing";
    const empty = await main.locator(".empty-title").allTextContents();
    if (empty.some((text) => /^You may not see|is about one tenant or one project$/.test(text))) return "not allowed";
    return (await main.locator(".problem").count()) > 0 ? "problem" : "shown";
  }

  test.each(CALLERS)("[d14.1] $name sees what the role allows, and is sent nothing else", async (caller) => {
    const made = await openConsole(browser, world.url);
    const answers: { readonly asked: string; readonly status: number; readonly text: string }[] = [];
    const reading: Promise<void>[] = [];
    made.page.on("response", (response) => {
      if (!response.url().startsWith(`${world.url}/console/api/v1/`)) return;
      const asked = `${response.request().method()} ${response.url().slice(world.url.length)}`;
      reading.push(
        response.text().then(
          (text) => void answers.push({ asked, status: response.status(), text }),
          // the page has given the request up
          () => {},
        ),
      );
    });
    await made.open("/");
    await made.signIn(world.tokens.get(caller.name)!);
    const wrong: string[] = [];
    const told = (title: string, place: ConfigurationScope, what: string): void =>
      void wrong.push(`${title} in ${place.tenantId}/${place.projectId ?? "-"}: ${what}`);
    let pages = 0;
    for (const place of caller.places) {
      const mayBe = caller.roleIn(place) !== null;
      for (const [title, path] of pagesOf(world, place)) {
        // of what is hidden as a whole, one page suffices; pages of single things of a tenant are those of a project
        if ((!mayBe || place === ACME) && title.includes(": ")) continue;
        pages++;
        answers.length = 0;
        await made.go(path);
        await made.settled();
        await Promise.all(reading.splice(0));
        const screen = CONSOLE_SCREENS.find((one) => one.title === title.replace(/: .*/, ""))!;
        const expected = due(screen, caller, place);
        const is = await seen(made);
        if (expected !== null && is !== expected) told(title, place, `${is}, expected ${expected}`);
        if (is === "nothing") told(title, place, "the page is blank");
        const shown = (await made.page.locator("body").textContent()) ?? "";
        for (const mark of caller.hidden)
          if (shown.includes(mark) || answers.some(({ text }) => text.includes(mark)))
            told(title, place, `has ${mark}`);
        const refused = answers.filter(({ status }) => status >= 400);
        if (expected === "shown")
          for (const { asked, status } of refused) told(title, place, `asked ${asked}: ${status}`);
      }
    }
    console.log(`${caller.name}: ${pages} pages`);
    expect(wrong).toEqual([]);
    expect(made.faults).toEqual([]);
    await made.close();
  });
});
