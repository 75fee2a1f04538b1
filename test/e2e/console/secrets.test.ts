// Secrets that are planted in the configuration, in objects, in a session and in prompts, and looked for in everything that the console
// receives, shows and keeps, and in the gateway's log, while somebody goes through all of its pages.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumProgram, launch, openConsole, startConsoleGateway } from "../../harness/console/chromium.ts";
import { crawl } from "../../harness/console/crawl.ts";
import { CONSOLE_SCREENS } from "../../harness/console/screens.ts";
import type { GatewayProcess } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";

const program = chromiumProgram();

const SECRETS = {
  "the key of a provider": "sk-canary-provider-0123456789abcdef",
  "the key of a provider of the database": "sk-canary-stored-0123456789abcdef",
  "the header of a tool server": "Bearer canary-tool-0123456789abcdef",
  "the secret of a company login": "canary-oidc-0123456789abcdef",
  "a prompt that the reader may not read": "canary-prompt-0123456789abcdef",
  "an answer that the reader may not read": "canary-answer-0123456789abcdef",
} as const;
const CONFIG = `
oidc:
  - name: corp
    issuer: "https://login.example"
    audience: gateway
    console: { client_id: console, client_secret: "${SECRETS["the secret of a company login"]}" }
providers:
  closed:
    type: custom
    base_url: http://127.0.0.1:9/v1
    api_key: ${SECRETS["the key of a provider"]}
    models: [m]
tool_servers:
  tools:
    url: http://127.0.0.1:9/mcp
    headers: { authorization: "${SECRETS["the header of a tool server"]}" }
tenants:
  default: { settings: { content_log: { enabled: true } } }
`;

/** What is looked for: the secret, and forms that it may take on its way. */
const formsOf = (secret: string): readonly string[] => [
  secret,
  encodeURIComponent(secret),
  btoa(secret).replace(/=+$/, ""),
];

describe.skipIf(program === null)("secrets and the console", () => {
  let gateway: GatewayProcess;
  let browser: Browser;
  let token: string;
  beforeAll(async () => {
    gateway = await startConsoleGateway({ config: CONFIG });
    browser = await launch(program!);
    token = await gateway.createToken("--personal", "--user", "owner");
    const made = await fetch(`${gateway.url}/api/v1/admin/tenants/default/providers`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({
        name: "stored",
        type: "custom",
        base_url: "http://127.0.0.1:9/v1",
        api_key: SECRETS["the key of a provider of the database"],
      }),
    });
    expect([made.status, await made.text()]).toEqual([201, expect.not.stringContaining("sk-canary")]);
    const prompt = SECRETS["a prompt that the reader may not read"];
    const answer = SECRETS["an answer that the reader may not read"];
    for (const model of ["sandbox:echo", "closed:m", "stored:m"])
      await (
        await gateway.chat({
          model,
          messages: [
            { role: "system", content: prompt },
            { role: "user", content: answer },
          ],
        })
      ).text();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  test("[d14.2] [d14.5] are in no response, page, storage, address or line of the log", async () => {
    const made = await openConsole(browser, gateway.url);
    const { page } = made;
    const heard: { readonly where: string; readonly text: string }[] = [];
    const reading: Promise<void>[] = [];
    page.on("request", (request) => void heard.push({ where: "an address", text: request.url() }));
    page.on("response", (response) => {
      const where = `the response to ${response.request().method()} ${response.url()}`;
      reading.push(
        (async () => {
          const { "set-cookie": _cookie, ...headers } = await response.allHeaders();
          heard.push({ where, text: JSON.stringify(headers) + (await response.text()) });
        })().catch(() => {}),
      );
    });
    await made.open("/");
    await made.signIn(token);
    const { value: session } = (await page.context().cookies())[0]!;
    const visited = await crawl(made, {
      starts: ["/default/default", "/default/-", "/-/-"].flatMap((base) =>
        CONSOLE_SCREENS.map(({ path }) => base + path),
      ),
      visit: async (path) => void heard.push({ where: `the page ${path}`, text: await made.kept() }),
    });
    expect(visited.length).toBeGreaterThan(20);
    // a token that is made here is in the one answer that makes it, and nowhere after its dialog
    await made.go("/default/default/tokens");
    await made.settled();
    await page.keyboard.press("c");
    await page.getByLabel("Name", { exact: true }).fill("planted");
    await page.keyboard.press("Enter");
    const secret = (await page.locator(".secret").textContent())!;
    await page.getByRole("button", { name: "I have stored it" }).click();
    await made.settled();
    await page.getByRole("link", { name: "planted" }).click();
    await made.settled();
    heard.push({ where: "the page after the dialog", text: await made.kept() });
    await Promise.all(reading);
    expect(heard.filter(({ text }) => text.includes(secret)).map(({ where }) => where)).toEqual([
      `the response to POST ${gateway.url}/console/api/v1/admin/projects/default/tokens`,
    ]);
    await until(() => gateway.lines().length >= 3, "the calls are logged");
    heard.push({ where: "the log", text: gateway.output() + gateway.errors() });
    const planted = { ...SECRETS, "the reader's token": token, "the session": session };
    const found = Object.entries(planted).flatMap(([what, text]) =>
      heard.flatMap(({ where, text: in_ }) =>
        formsOf(text).some((form) => in_.includes(form)) ? [`${what} in ${where}`] : [],
      ),
    );
    expect([...new Set(found)]).toEqual([]);
    expect(made.faults).toEqual([]);
    await made.close();
  });
});
