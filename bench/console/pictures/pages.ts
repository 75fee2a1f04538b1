// Which pictures are made: every screen of the console in each of its states, and the pages, dialogs and menus that are worth a picture of their own.
import type { Page } from "playwright-core";
import { CONSOLE_SCREENS } from "../../../test/harness/console/screens.ts";
import { NOW_MS, TENANT } from "./company.ts";
import type { CompanyWorld } from "./company-world.ts";
import { type REMARKABLE, traceOf } from "./remarkable-calls.ts";

/**
 * `full` is the company's; `empty` that of somebody whose tenant has nothing yet; with `error` and `loading` the gateway refuses or keeps silent;
 * `refused` is for somebody with a role in another place only.
 */
export const STATES = ["full", "empty", "error", "loading", "refused"] as const;
export type State = (typeof STATES)[number];

export interface Picture {
  readonly name: string;
  readonly state: State;
  /** Below `/console`. */
  readonly path: string;
  /** What is done on the page before the picture is made. */
  readonly act?: (page: Page) => Promise<void>;
}

const SUPPORT = `/${TENANT}/support`;
const COMPANY = `/${TENANT}/-`;
/** Where each state of a screen is seen. */
const PLACES: Readonly<Record<State, string>> = {
  full: SUPPORT,
  empty: "/harbour/site",
  error: SUPPORT,
  loading: SUPPORT,
  refused: `/${TENANT}/analytics`,
};
/** Screens that show more of the whole company than of one project. */
const OF_COMPANY: ReadonlySet<string> = new Set([
  "/",
  "/usage",
  "/limits",
  "/providers",
  "/prices",
  "/people",
  "/audit",
  "/settings",
]);

/** The id of a call that arrived so long before the pictures are made, and has not ended. */
const RUNS_FOR_MS = 20_000;
const RUNNING = `${(NOW_MS - RUNS_FOR_MS).toString(16).padStart(12, "0")}5e1ec7ed0000000000aa`;

const nameOf = (path: string): string => (path === "/" ? "overview" : path.slice(1));

export function picturesOf(world: CompanyWorld): readonly Picture[] {
  return [...screens(), ...calls(), ...configured(world), ...others(world), ...layers(world)];
}

function screens(): readonly Picture[] {
  return CONSOLE_SCREENS.flatMap(({ path }) =>
    STATES.map((state) => ({
      name: nameOf(path),
      state,
      path: (state === "full" && OF_COMPANY.has(path) ? COMPANY : PLACES[state]) + path,
    })),
  );
}

const full = (name: string, path: string, act?: Picture["act"]): Picture => ({
  name,
  state: "full",
  path,
  ...(act !== undefined && { act }),
});

const press = (name: string | RegExp) => async (page: Page) => await page.getByRole("button", { name }).first().click();
const keys =
  (...pressed: readonly string[]) =>
  async (page: Page) => {
    for (const key of pressed) await page.keyboard.press(key);
  };

function calls(): readonly Picture[] {
  const pageOf = (name: (typeof REMARKABLE)[number], project: string): string =>
    `/${TENANT}/${project}/calls/${traceOf(name)}`;
  return [
    full("call-fallback", pageOf("fallback", "support")),
    full("call-conversation", pageOf("fallback", "support"), press("Show the conversation")),
    full("call-explained", pageOf("fallback", "support"), keys("e")),
    full("call-failed", pageOf("failed", "content")),
    full("call-refused", pageOf("refused", "analytics")),
    full("call-dear", pageOf("dear", "analytics")),
    full("call-tools", pageOf("tools", "support")),
    full("call-running", `${SUPPORT}/calls/${RUNNING}`),
    full("calls-of-company", `${COMPANY}/calls?range=7d`),
    full("calls-peek", `${SUPPORT}/calls?open=${traceOf("fallback")}`),
    full("calls-filtered", `${SUPPORT}/calls?q=outcome%3Afailed&range=7d`),
    full("calls-too-narrow", `${SUPPORT}/calls?q=route%3Achat+status%3A418`),
    full("calls-wrong-filter", `${SUPPORT}/calls?q=statsu%3A429`),
  ];
}

function configured({ ids }: CompanyWorld): readonly Picture[] {
  const one = (screen: string, key: string, place: string): string => `${place}/${screen}/${ids.get(key)!}`;
  const chat = one("routes", "route support chat", SUPPORT);
  const budget = one("limits", "budget support support-month", SUPPORT);
  const policy = one("policies", "policy content drafts-stay-in-house", `/${TENANT}/content`);
  const bookings = one("tools", "tool_server support bookings", SUPPORT);
  return [
    full("route", chat),
    full("route-versions", `${chat}?tab=versions`),
    full("route-new", `${SUPPORT}/routes/~new`),
    full("route-conditions", `${SUPPORT}/routes/~new`, async (page) => {
      await page.getByLabel("Model of target 1").fill("openai:gpt-5-mini");
      await page.getByLabel("Condition of target 1").fill("request.stream");
      await page.getByLabel("Share of target 1").fill("20");
      await page.getByLabel("Target of the mirror").fill("house-gpu:qwen3-32b");
      await page.getByLabel("Share of the calls in percent").fill("5");
    }),
    full("route-of-file", `${COMPANY}/routes/file.tenants.kestrel.routes.fast`),
    full("policy", policy),
    full("policy-new", `${SUPPORT}/policies/~new`),
    full("policy-service", `${SUPPORT}/policies/~new`, async (page) => {
      await page.getByRole("button", { name: "Guard with a service" }).click();
      await page.getByLabel("Type", { exact: true }).selectOption("moderation");
    }),
    full("price", one("prices", "price - house-gpu", COMPANY)),
    full("price-history", `${one("prices", "price - house-gpu", COMPANY)}?tab=history`),
    full("tool-server", bookings),
    full("tool-server-in-use", `${bookings}?tab=beside`, press("Test the connection")),
    full("limit-budget", budget),
    full("limit-company", one("limits", "budget - company-month", COMPANY)),
    full("limit-per-customer", one("limits", "limit support per-customer", SUPPORT)),
    full("limit-definition", `${budget}?tab=edit`),
    full("limit-new", `${SUPPORT}/limits/~new`),
    full("limit-amount", budget, press("Change the amount")),
  ];
}

function others({ callers }: CompanyWorld): readonly Picture[] {
  return [
    full("overview-of-project", `${SUPPORT}/`),
    full("provider", `${COMPANY}/providers/house-gpu`),
    full("provider-ok", `${COMPANY}/providers/anthropic`),
    full("provider-capabilities", `${COMPANY}/providers/anthropic?tab=capabilities`),
    full("provider-definition", `${COMPANY}/providers/house-gpu?tab=edit`),
    full("provider-drain", `${COMPANY}/providers/house-gpu`, press("Drain for a time")),
    full("provider-test", `${COMPANY}/providers/house-gpu`, press("Test")),
    full("usage-by-two", `${COMPANY}/usage?by=project,model&range=30d`),
    full("usage-of-customers", `${SUPPORT}/usage?by=end_user&range=7d`),
    full("people-of-project", `${SUPPORT}/people`),
    full("tokens-of-company", `${COMPANY}/tokens`),
    full("token", `${SUPPORT}/tokens/${callers.get("support-bot")!}`),
    full("token-new", `${SUPPORT}/tokens`, keys("c")),
    full("audit-filtered", `${COMPANY}/audit?kind=route`),
    full("play-answered", `${SUPPORT}/play?model=chat`, async (page) => {
      await page
        .getByLabel("Text of message 1")
        .fill("My train to Gothenburg was cancelled. Do I still reach the ferry at 18:40?");
      await page.getByRole("button", { name: "Send" }).first().click();
      await page.getByText("half an hour to spare").waitFor();
    }),
    full("not-found", `${SUPPORT}/nowhere`),
  ];
}

/** What opens over a page. */
function layers(_world: CompanyWorld): readonly Picture[] {
  return [
    full("palette", `${SUPPORT}/`, keys("Control+k")),
    full("palette-pasted", `${SUPPORT}/`, async (page) => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type(traceOf("fallback"));
    }),
    full("shortcuts", `${SUPPORT}/calls`, keys("?")),
    full("menu-of-account", `${SUPPORT}/calls`, press(/Account/)),
    full("menu-of-scope", `${SUPPORT}/calls`, async (page) => await page.locator(".scope-button").click()),
    full("menu-as-code", `${SUPPORT}/calls`, press("As code")),
    full("menu-of-views", `${SUPPORT}/calls`, press("Views")),
  ];
}
