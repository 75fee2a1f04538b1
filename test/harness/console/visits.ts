// The frame of a test of the console in a real browser: one gateway and one browser for all of it, and pages of people who visit. They are closed
// after each test, which fails if anything has happened on them that must not happen.
import { afterAll, afterEach, beforeAll, describe, expect } from "bun:test";
import type { Browser, BrowserContextOptions, Cookie } from "playwright-core";
import { chromiumProgram, type ConsolePage, launch, openConsole, startConsoleGateway } from "./chromium.ts";
import type { GatewayOptions, GatewayProcess } from "../processes/gateway-process.ts";

export interface Visit extends BrowserContextOptions {
  /** The access token that somebody signs in with: that of the owner, if left out. */
  readonly as?: string;
}

/** What it has is there when the tests run, and not before. */
export interface ConsoleVisits {
  readonly gateway: GatewayProcess;
  readonly browser: Browser;
  /** A personal token of the owner, who is an operator. */
  readonly owner: string;
  /** Opens a page below `/console`, or of a whole address, as somebody who is not signed in. */
  readonly visiting: (path: string, options?: BrowserContextOptions) => Promise<ConsolePage>;
  /** With the session of the same token, where one is open. */
  readonly signedIn: (path: string, visit?: Visit) => Promise<ConsolePage>;
  /** Asks the admin API as the owner; the path is below `/api/v1/admin`. */
  readonly admin: (
    method: string,
    path: string,
    body?: object,
  ) => Promise<{ readonly status: number; readonly body: any }>;
  readonly read: (path: string) => Promise<any>;
}

export interface VisitsOptions {
  readonly gateway?: () => GatewayOptions | Promise<GatewayOptions>;
  /** Where pages may go beside the gateway, such as an issuer of logins. */
  readonly others?: () => readonly string[];
}

export function consoleVisits(
  name: string,
  { gateway: settings = () => ({}), others = () => [] }: VisitsOptions,
  tests: (visits: ConsoleVisits) => void,
): void {
  const program = chromiumProgram();
  describe.skipIf(program === null)(name, () => {
    let gateway: GatewayProcess;
    let browser: Browser;
    let owner: string;
    const opened: ConsolePage[] = [];
    const sessions = new Map<string, Cookie[]>();
    beforeAll(async () => {
      gateway = await startConsoleGateway(await settings());
      browser = await launch(program!);
      owner = await gateway.createToken("--personal", "--user", "owner");
    });
    afterAll(async () => {
      await browser?.close();
      await gateway?.stop();
    });
    afterEach(async () => {
      const pages = opened.splice(0);
      const faults = pages.flatMap((page) => page.faults);
      await Promise.all(pages.map((page) => page.close()));
      expect(faults).toEqual([]);
    });
    const visiting: ConsoleVisits["visiting"] = async (path, options = {}) => {
      const isWhole = /^https?:/.test(path);
      const origin = isWhole ? new URL(path).origin : gateway.url;
      const made = await openConsole(browser, origin, { ...options, others: others() });
      opened.push(made);
      if (isWhole) await made.page.goto(path);
      else await made.open(path);
      return made;
    };
    const admin: ConsoleVisits["admin"] = async (method, path, body) => {
      const answer = await fetch(`${gateway.url}/api/v1/admin${path}`, {
        method,
        headers: { authorization: `Bearer ${owner}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
    };
    tests({
      get gateway() {
        return gateway;
      },
      get browser() {
        return browser;
      },
      get owner() {
        return owner;
      },
      visiting,
      signedIn: async (path, { as = owner, ...options } = {}) => {
        const cookies = sessions.get(as) ?? [];
        const made = await visiting(path, { ...options, storageState: { cookies, origins: [] } });
        const field = made.page.getByLabel("Personal access token");
        await field
          .or(made.page.getByRole("navigation", { name: "Screens" }))
          .first()
          .waitFor();
        if (!(await field.isVisible())) return made;
        await made.signIn(as);
        sessions.set(as, await made.page.context().cookies());
        return made;
      },
      admin,
      read: async (path) => (await admin("GET", path)).body,
    });
  });
}
