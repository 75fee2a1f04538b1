// The console behind a proxy that has the gateway below a path, in a real browser: signing in with a token and at a company, every screen,
// links and commands to copy.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { CONSOLE_SCREENS } from "../../harness/console/screens.ts";
import {
  chromiumProgram,
  type ConsolePage,
  launch,
  openConsole,
  startConsoleGateway,
} from "../../harness/console/chromium.ts";
import type { GatewayProcess } from "../../harness/processes/gateway-process.ts";
import { type Issuer, startIssuer } from "../../harness/servers/issuer.ts";
import { type PrefixProxy, startPrefixProxy } from "../../harness/servers/prefix-proxy.ts";
import { until } from "../../harness/time/until.ts";

const program = chromiumProgram();

describe.skipIf(program === null)("the console below a path of a proxy", () => {
  let proxy: PrefixProxy;
  let issuer: Issuer;
  let gateway: GatewayProcess;
  let browser: Browser;
  let token: string;
  beforeAll(async () => {
    proxy = startPrefixProxy("/llm");
    issuer = await startIssuer();
    gateway = await startConsoleGateway({
      config: `
console: { url: "${proxy.url}" }
oidc:
  - name: corp
    issuer: "${issuer.url}"
    audience: gateway
    console:
      client_id: ${issuer.codeFlow.clientId}
      client_secret: "${issuer.codeFlow.clientSecret}"
      label: The company
    roles:
      - { claim: groups, value: ai-admins, role: admin }
`,
    });
    proxy.target = gateway.url;
    browser = await launch(program!);
    token = await gateway.createToken("--personal", "--user", "owner");
    await (
      await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "Hello, proxy!" }] })
    ).text();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await proxy?.stop();
    issuer?.stop();
  });
  /** Without the requests to the company's page, which is at another address. */
  const faultsOf = ({ faults }: ConsolePage): readonly string[] =>
    faults.filter((fault) => !fault.startsWith(`request to ${issuer.url}/`));

  test("[d14.2] every screen works there after signing in with a token, and asks for nothing outside of the path", async () => {
    const made = await openConsole(browser, proxy.url);
    const { page } = made;
    await made.open("/default/default/calls");
    await made.signIn(token);
    await page.locator("tbody tr.row").first().waitFor();
    const menu = page.getByRole("navigation", { name: "Screens" });
    for (const { title, path } of CONSOLE_SCREENS) {
      await menu.getByRole("link", { name: title, exact: true }).click();
      await made.settled();
      expect(new URL(page.url()).pathname).toBe(`/llm/console/default/default${path}`);
      await page.reload();
      await made.settled();
      expect([title, await page.locator("main .problem").count()]).toEqual([title, 0]);
      await menu.locator("a[aria-current=page]").getByText(title, { exact: true }).waitFor();
    }
    await made.open("/default/default/start");
    await page.getByText(`curl ${proxy.url}/api/v1/chat/completions`).waitFor();
    await made.settled();
    expect(proxy.strays).toEqual([]);
    expect(faultsOf(made)).toEqual([]);
    await made.close();
  });

  test("[d14.2] the login page offers the company's login, which leads back to the page", async () => {
    issuer.codeFlow.claims = { groups: ["ai-admins"] };
    const made = await openConsole(browser, proxy.url);
    const { page } = made;
    await made.open("/default/default/usage?by=model");
    await page.getByRole("link", { name: "Sign in with The company" }).click();
    await page.getByRole("navigation", { name: "Screens" }).waitFor();
    expect(page.url()).toBe(`${proxy.url}/console/default/default/usage?by=model`);
    expect(issuer.codeFlow.exchanged.at(-1)!.get("redirect_uri")).toBe(`${proxy.url}/console/oidc/callback`);
    expect(proxy.strays).toEqual([]);
    expect(faultsOf(made)).toEqual([]);
    await made.close();
  });

  test("[d14.2] where a session ends in the middle of work, the company's login opens beside the page, which goes on", async () => {
    issuer.codeFlow.claims = { groups: ["ai-admins"] };
    const made = await openConsole(browser, proxy.url);
    const { page } = made;
    await made.open("/default/default/calls");
    await page.getByRole("link", { name: "Sign in with The company" }).click();
    await page.locator("tbody tr.row").first().waitFor();
    await page.context().clearCookies();
    await page.keyboard.press("/");
    await page.keyboard.type("model:echo");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.waitFor();
    const [other] = await Promise.all([
      page.context().waitForEvent("page"),
      dialog.getByRole("link", { name: /Sign in with The company/ }).click(),
    ]);
    await other.getByRole("navigation", { name: "Screens" }).waitFor();
    await other.close();
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await dialog.waitFor({ state: "detached" });
    await until(() => new URL(page.url()).searchParams.get("q") === "model:echo", "the filter stays");
    await page.locator("tbody tr.row").first().waitFor();
    await made.close();
  });
});
