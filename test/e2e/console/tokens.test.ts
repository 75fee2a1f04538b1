// The first call and access tokens in a real browser, against the real process. How a token is made, whose text is shown once, is in
// console-flows.test.ts.
import { expect, test } from "bun:test";
import { consoleVisits } from "../../harness/console/visits.ts";
import { until } from "../../harness/time/until.ts";

consoleVisits("tokens in the console", {}, (visits) => {
  const models = async (secret: string): Promise<number> => {
    const answer = await fetch(`${visits.gateway.url}/api/v1/models`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    await answer.text();
    return answer.status;
  };

  test("by mouse: a token gets a new secret while the old one stays, and is revoked for good", async () => {
    const old = await visits.gateway.createToken("--name", "rotated");
    const { page } = await visits.signedIn("/default/default/tokens");
    // made on the command line, so without a name of its own
    await page.getByRole("link", { name: "rotated" }).first().click();
    await page.getByRole("button", { name: "New secret" }).click();
    await page.getByRole("button", { name: "Make a new secret" }).click();
    const secret = (await page.locator(".secret").textContent())!;
    expect(secret).not.toBe(old);
    await page.getByRole("button", { name: "I have stored it" }).click();
    expect([await models(secret), await models(old)]).toEqual([200, 200]);
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByRole("button", { name: "Revoke the token" }).click();
    await page.getByText("Revoked", { exact: true }).first().waitFor();
    await until(async () => (await models(secret)) === 401, "the token is refused");
    expect(await page.getByRole("button", { name: "New secret" }).count()).toBe(0);
  });

  test("[d14.3] a token tells when it was used last, in the list and on its page, and that no call of it is known", async () => {
    const secret = await visits.gateway.createToken("--name", "used");
    await visits.gateway.createToken("--name", "unused");
    const answer = await fetch(`${visits.gateway.url}/api/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] }),
    });
    expect(answer.status).toBe(200);
    await answer.text();
    const lastUse = async (): Promise<string | null> =>
      (await visits.read("/projects/default/tokens?search=used")).data.find(({ name }: any) => name === "used")
        .last_used_at;
    await until(async () => (await lastUse()) !== null, "the call is in the database");
    const at = await lastUse();
    const { page } = await visits.signedIn("/default/default/tokens");
    const row = (name: string) => page.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });
    await row("used").locator(`time[datetime="${at}"]`).waitFor();
    await row("unused").getByText("no call is recorded").waitFor();
    await page.getByRole("link", { name: "used", exact: true }).click();
    await page.locator("dl.pairs > div").filter({ hasText: "Last call" }).locator(`time[datetime="${at}"]`).waitFor();
  });

  test("bad input is shown where it was typed, and nothing is lost", async () => {
    const { page } = await visits.signedIn("/default/default/tokens");
    await page.getByRole("button", { name: "New token" }).click();
    await page.getByLabel("Name", { exact: true }).fill("narrow");
    await page.getByText("Narrow what it may call").click();
    await page.getByLabel("Addresses").fill("not-an-address");
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByText("The token was not made.").waitFor();
    await page.getByText(/^ip/).waitFor();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("narrow");
    await page.getByLabel("Addresses").fill("127.0.0.0/8");
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByRole("dialog", { name: "The token narrow" }).waitFor();
  });

  test("the first call: the command works as it is copied, and the call appears on the page", async () => {
    const { page } = await visits.signedIn("/default/default/start");
    await page.getByRole("button", { name: "Put a new token into it" }).click();
    await page.getByText("is shown on this page only").waitFor();
    const command = (await page.locator("main .panel pre.code").first().textContent())!;
    await page.getByText("Waiting for a call").waitFor();
    const asked = Bun.spawn(["bash", "-c", `${command} --silent`], { stdout: "pipe" });
    const answer = JSON.parse(await asked.stdout.text()) as {
      choices: { message: { content: string } }[];
      x_gateway_trace_id: string;
    };
    expect(answer.choices[0]!.message.content).toBe("Hello, Dragoman!");
    await page.getByText("A call has arrived.").waitFor();
    await page.getByText(answer.x_gateway_trace_id).waitFor();
  });

  test("the first call: its models are those of the project, also for somebody who has several, of which one is chosen", async () => {
    const made = await visits.admin("POST", "/projects", { id: "second", tenant_id: "default", name: "Second" });
    expect(made.status).toBe(201);
    const { page } = await visits.signedIn("/default/default/start");
    await page.getByLabel("Model").waitFor();
    const all = await visits.signedIn("/default/-/start");
    await all.page.getByText("Choose one at the top.").waitFor();
    await all.page.getByLabel("Of the project").selectOption("second");
    await all.page.getByLabel("Model").waitFor();
  });

  test("tokens of all tenants at once are not there, and the page says where they are", async () => {
    const { page } = await visits.signedIn("/-/-/tokens");
    await page.getByText("“Tokens” is about one tenant or one project").waitFor();
  });

  test.each([
    ["light", 1280],
    ["dark", 320],
  ] as const)("axe finds nothing, and nothing is cut off: %s, %d pixels", async (colorScheme, width) => {
    const made = await visits.signedIn("/default/default/tokens", { colorScheme, viewport: { width, height: 900 } });
    const { page } = made;
    const look = async (name: string): Promise<void> => {
      await made.settled();
      expect({ name, found: await made.axe() }).toEqual({ name, found: [] });
      const wider = await page.evaluate<number>(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      );
      expect({ name, wider }).toEqual({ name, wider: 0 });
    };
    await page.getByRole("table").waitFor();
    await look("list");
    await page.getByRole("button", { name: "New token" }).click();
    await page.getByRole("dialog").waitFor();
    await look("form");
    await page.keyboard.press("Escape");
    await page.getByRole("table").getByRole("link").first().click();
    await page.getByRole("button", { name: "Revoke", exact: true }).waitFor();
    await look("token");
    await made.open("/default/default/start");
    await page.getByText("Waiting for a call").waitFor();
    // the page asks every second, so that the network is never idle
    expect(await made.axe()).toEqual([]);
  });
});
