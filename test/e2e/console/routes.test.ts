// A route is changed safely in a real browser, against the real process: the draft is kept, the simulation follows it, tests block, a note goes
// with the publication, and one action goes back.
import { beforeAll, expect, test } from "bun:test";
import { consoleVisits } from "../../harness/console/visits.ts";
import { until } from "../../harness/time/until.ts";

const ROUTE = "/projects/default/routes/chat";
const CALLS = 6;

consoleVisits("the editor of a route", {}, (visits) => {
  const admin = async (method: string, path: string, body?: object): Promise<any> =>
    (await visits.admin(method, path, body)).body;
  beforeAll(async () => {
    await admin("POST", "/projects/default/routes", { name: "chat", targets: ["sandbox:echo", "sandbox:words-7"] });
    for (let at = 0; at < CALLS; at++)
      await (await visits.gateway.chat({ route: "chat", messages: [{ role: "user", content: "Hello" }] })).text();
    await until(async () => (await admin("POST", `${ROUTE}/simulate`, {})).calls > 0);
  });

  test("by keyboard: a target is moved, the simulation says what changes, the draft is kept, and it is published and taken back", async () => {
    const made = await visits.signedIn("/default/default/routes/chat");
    const { page } = made;
    const simulation = page.getByRole("region", { name: "Simulation" });
    await simulation.getByText("sandbox:echo").first().waitFor();
    expect(await made.axe()).toEqual([]);
    await page.getByLabel("Model of target 1").focus();
    await page.keyboard.press("Alt+ArrowDown");
    await simulation.getByText("100 % of the calls change their target").waitFor();
    await page.getByText("Your draft is kept").waitFor();
    expect(await made.axe()).toEqual([]);
    // another page of the same person goes on with it
    await page.reload();
    await page.getByText("Your draft is kept").or(page.getByLabel("Model of target 1")).first().waitFor();
    await until(async () => (await page.getByLabel("Model of target 1").inputValue()) === "sandbox:words-7");
    await page.getByRole("button", { name: "Look at the change and publish" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Publish chat" });
    await dialog.getByText("sandbox:words-7 moves before sandbox:echo.").waitFor();
    await dialog.getByText("100 % of the calls change their target").waitFor();
    await dialog.getByLabel("Why, for the list of versions").fill("Try words first");
    expect(await made.axe()).toEqual([]);
    await dialog.getByRole("button", { name: "Publish", exact: true }).press("Enter");
    const strip = page.getByRole("region", { name: "Published" });
    await strip.getByText("Five minutes before").waitFor();
    expect((await admin("GET", ROUTE)).targets).toEqual(["sandbox:words-7", "sandbox:echo"]);
    await until(async () => (await admin("GET", `${ROUTE}/draft`)).text === null);
    expect(await made.axe()).toEqual([]);
    await strip.getByRole("button", { name: "Go back" }).press("Enter");
    await until(async () => (await admin("GET", ROUTE)).targets[0] === "sandbox:echo");
    const { data } = await admin("GET", `${ROUTE}/versions`);
    expect(data.map(({ note }: { note: string | null }) => note).slice(0, 2)).toEqual([
      `Back to version ${data.at(-1).number}`,
      "Try words first",
    ]);
    await page.getByRole("tab", { name: "Versions" }).press("Enter");
    await page.getByText("“Try words first”").waitFor();
    expect(await made.axe()).toEqual([]);
  });

  test("a draft is there again, and marked in the list, as often as its reader leaves the page and comes back", async () => {
    const made = await visits.signedIn("/default/default/routes");
    const { page } = made;
    const yaml = page.getByRole("textbox", { name: "YAML" });
    const marked = page.getByRole("row", { name: /chat ● your draft/ });
    for (const retries of [1, 2]) {
      await page.getByRole("link", { name: "chat", exact: true }).click();
      await yaml.waitFor();
      if (retries > 1) expect(await yaml.inputValue()).toContain("retries: 1");
      await yaml.fill(`targets: [sandbox:echo, sandbox:words-7]\nretries: ${retries}\n`);
      await page.getByText("Your draft is kept").waitFor();
      await page.getByRole("tab", { name: "Versions" }).click();
      await page.getByRole("tab", { name: "Definition" }).click();
      await yaml.waitFor();
      expect(await yaml.inputValue()).toContain(`retries: ${retries}`);
      await page.getByRole("link", { name: "Routes" }).first().click();
      await marked.waitFor();
    }
    await page.getByRole("link", { name: "chat", exact: true }).click();
    await page.getByRole("button", { name: "Discard the draft" }).click();
    await until(async () => (await admin("GET", `${ROUTE}/draft`)).text === null);
    await page.getByRole("link", { name: "Routes" }).first().click();
    await marked.waitFor({ state: "detached" });
    await page.getByRole("link", { name: "chat", exact: true }).click();
    await yaml.waitFor();
    expect(await yaml.inputValue()).not.toContain("retries");
  });

  test("what was typed last is kept when the reader leaves the page at once, and so is that it was discarded", async () => {
    const made = await visits.signedIn("/default/default/routes/chat");
    const { page } = made;
    const yaml = page.getByRole("textbox", { name: "YAML" });
    const leave = async (): Promise<void> => {
      await page.getByRole("link", { name: "Routes" }).first().click();
      await yaml.waitFor({ state: "detached" });
    };
    await yaml.fill("targets: [sandbox:echo, sandbox:words-7]\nretries: 3\n");
    await leave();
    await until(async () => (await admin("GET", `${ROUTE}/draft`)).text?.includes("retries: 3") === true);
    await page.getByRole("link", { name: "chat", exact: true }).click();
    await yaml.fill("targets: [sandbox:echo, sandbox:words-7]\nretries: 4\n");
    await page.getByRole("button", { name: "Discard the draft" }).click();
    await leave();
    await until(async () => (await admin("GET", `${ROUTE}/draft`)).text === null);
  });

  test("outages are switches, tests made of the calls are taken over, and a test that does not hold asks for a reason", async () => {
    const made = await visits.signedIn("/default/default/routes/chat", { colorScheme: "dark" });
    const { page } = made;
    const simulation = page.getByRole("region", { name: "Simulation" });
    await simulation.getByLabel("sandbox:echo").selectOption("is down");
    await page.getByRole("button", { name: "Remove target 1" }).click();
    // the published route still has it
    expect(await simulation.getByLabel("sandbox:echo").inputValue()).toBe("down");
    await page.getByRole("button", { name: "Discard the draft" }).click();
    await simulation.getByLabel("sandbox:echo").selectOption("works as usual");
    await simulation.getByRole("button", { name: /^Take \d tests? made of these calls$/ }).click();
    await simulation.getByText("✓ “text” holds.").waitFor();
    await simulation.getByLabel("sandbox:echo").selectOption("is down");
    await simulation.getByRole("row", { name: /sandbox:words-7 .*100 %/ }).waitFor();
    await page.getByRole("button", { name: "Look at the change and publish" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Publish", exact: true }).click();
    await page.getByRole("region", { name: "Published" }).waitFor();
    const { tests } = await admin("GET", ROUTE);
    expect(tests[0]).toEqual({ name: "text", when: {}, expect: { target: "sandbox:echo" } });
    await page.getByLabel("Move target 1 down").click();
    await page.getByText("tests[0]: the test").first().waitFor();
    await page.getByRole("button", { name: "Look at the change and publish" }).click();
    const dialog = page.getByRole("dialog");
    const publish = dialog.getByRole("button", { name: "Publish", exact: true });
    await dialog.getByText("Tests do not hold.").waitFor();
    expect(await publish.isDisabled()).toBe(true);
    await dialog.getByLabel("Reason").fill("Echo is being replaced");
    await publish.click();
    await until(async () => (await admin("GET", ROUTE)).targets[0] === "sandbox:words-7");
    const { data } = await admin("GET", "/projects/default/audit?action=override_tests");
    expect(data[0].note).toBe("Echo is being replaced");
    expect(await made.axe()).toEqual([]);
  });

  test("[d14.5] a draft over which somebody else has published shows both changes and overwrites nothing", async () => {
    const first = await admin("GET", ROUTE);
    await admin("PUT", `${ROUTE}/draft`, {
      text: "targets:\n  - sandbox:echo\n  - sandbox:words-7\nretries: 2\n",
      base_etag: first.etag,
    });
    await admin("PATCH", `${ROUTE}?override_tests=x`, { retries: 5 });
    const { page } = await visits.signedIn("/default/default/routes/chat", { viewport: { width: 320, height: 700 } });
    await page.getByText("Somebody else has published a change since you began this draft.").waitFor();
    await page.getByRole("button", { name: "Look at the change and publish" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Publish", exact: true }).click();
    await page.getByRole("dialog", { name: "chat has changed meanwhile" }).waitFor();
    await dialog.getByText("What you would change").waitFor();
    expect((await admin("GET", ROUTE)).retries).toBe(5);
    await dialog.getByRole("button", { name: "Take theirs" }).click();
    await until(async () => (await admin("GET", `${ROUTE}/draft`)).text === null);
    expect((await admin("GET", ROUTE)).retries).toBe(5);
  });

  test("an earlier version becomes a draft, which the list marks; the simulation says what a policy would deny", async () => {
    await admin("DELETE", `${ROUTE}/draft`);
    const { data } = await admin("GET", `${ROUTE}/versions`);
    const { number, change } = data.at(-1);
    const policy = { name: "no-streams", rule: `target.model == "echo"` };
    const { id } = await admin("POST", "/projects/default/policies", policy);
    const made = await visits.signedIn("/default/default/routes/chat?tab=versions");
    const { page } = made;
    await page.getByRole("button", { name: `Edit version ${number} as a draft` }).press("Enter");
    await page.getByLabel("Model of target 1").waitFor();
    expect(await page.getByLabel("Model of target 1").inputValue()).toBe(change.after.targets[0]);
    expect((await admin("GET", `${ROUTE}/draft`)).text).toStartWith(`# version ${number}\n`);
    await page
      .getByRole("region", { name: "Simulation" })
      .getByText(/would be denied by the policy no-streams/)
      .waitFor();
    expect(await made.axe()).toEqual([]);
    await page.getByRole("tab", { name: "Versions" }).press("Enter");
    await page.getByRole("button", { name: `Replace your draft with version ${number}` }).waitFor();
    await page.getByRole("link", { name: "Routes" }).first().click();
    await page.getByRole("row", { name: /chat ● your draft/ }).waitFor();
    expect(await made.axe()).toEqual([]);
    await admin("DELETE", `/projects/default/policies/${id}`);
    await admin("DELETE", `${ROUTE}/draft`);
  });

  test("a draft of a policy says whom it would deny", async () => {
    await admin("POST", "/projects/default/policies", { name: "quiet", rule: "request.stream" });
    const made = await visits.signedIn("/default/default/policies/quiet");
    const { page } = made;
    const simulation = page.getByRole("region", { name: "Simulation" });
    await simulation.getByRole("row", { name: new RegExp(`Allowed ${CALLS}$`) }).waitFor();
    await page.getByLabel("Deny a call where this holds (CEL)").fill("true");
    await simulation.getByText(`${CALLS} calls would be newly denied.`).waitFor();
    await simulation.getByRole("group", { name: "Who loses and who gains" }).waitFor();
    await page.getByText("Your draft is kept").waitFor();
    expect(await made.axe()).toEqual([]);
  });

  test("[d16.1] the condition and the share of a target are edited in the form, and the page of a call says what was passed over", async () => {
    await admin("POST", "/projects/default/routes", { name: "chosen", targets: ["sandbox:words-7", "sandbox:echo"] });
    const made = await visits.signedIn("/default/default/routes/chosen");
    const { page } = made;
    await page.getByLabel("Condition of target 1").fill("request.stream");
    await page.getByLabel("Share of target 1").fill("50");
    await page.getByText("Your draft is kept").waitFor();
    expect(await made.axe()).toEqual([]);
    await page.getByRole("button", { name: "Look at the change and publish" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Publish chosen" });
    await dialog.getByText("sandbox:words-7 is for calls with request.stream.").waitFor();
    await dialog.getByText("sandbox:words-7 gets a share of 50 % of the calls.").waitFor();
    await dialog.getByRole("button", { name: "Publish", exact: true }).press("Enter");
    await page.getByRole("region", { name: "Published" }).waitFor();
    expect((await admin("GET", "/projects/default/routes/chosen")).targets).toEqual([
      { model: "sandbox:words-7", when: "request.stream", share: 50 },
      "sandbox:echo",
    ]);
    const answered = async (): Promise<any> =>
      (await visits.gateway.chat({ route: "chosen", messages: [{ role: "user", content: "Hello" }] })).json();
    let answer = await answered();
    await until(async () => String((answer = await answered()).model).includes("echo"));
    const id = answer.x_gateway_trace_id ?? answer.id;
    await page.goto(new URL(`/console/default/default/calls/${id}`, page.url()).href);
    await page.getByText("passed over: `when` is false").first().waitFor();
    expect(await made.axe()).toEqual([]);
  });

  test("[d16.1] fallbacks are added, moved and given conditions and shares in the form, as targets are", async () => {
    await admin("POST", "/projects/default/routes", { name: "caught", targets: ["sandbox:error-500"] });
    const made = await visits.signedIn("/default/default/routes/caught");
    const { page } = made;
    const add = page.getByRole("button", { name: "Add a fallback" });
    await add.press("Enter");
    await page.getByLabel("Model of fallback 1").fill("sandbox:words-7");
    await add.press("Enter");
    await page.getByLabel("Model of fallback 2").fill("route:chat");
    await page.getByLabel("Condition of fallback 1").fill("request.stream");
    await page.getByLabel("Share of fallback 2").fill("50");
    await page.getByRole("button", { name: "Move fallback 2 up" }).press("Enter");
    await page.getByText("Your draft is kept").waitFor();
    expect(await made.axe()).toEqual([]);
    await page.getByRole("button", { name: "Look at the change and publish" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Publish caught" });
    await dialog.getByText("The fallback sandbox:words-7 is for calls with request.stream.").waitFor();
    await dialog.getByText("The fallback route:chat gets a share of 50 % of the calls.").waitFor();
    await dialog.getByRole("button", { name: "Publish", exact: true }).press("Enter");
    await page.getByRole("region", { name: "Published" }).waitFor();
    expect((await admin("GET", "/projects/default/routes/caught")).fallbacks).toEqual([
      { route: "chat", share: 50 },
      { model: "sandbox:words-7", when: "request.stream" },
    ]);
    await page.getByRole("button", { name: "Remove fallback 1" }).press("Enter");
    await page.getByRole("button", { name: "Remove fallback 1" }).press("Enter");
    await page.getByRole("button", { name: "Remove fallback 1" }).waitFor({ state: "detached" });
  });

  test("[d16.1] a mirror is edited in the form, its tab compares calls with their copies, and both pages of a pair name the other", async () => {
    await admin("POST", "/projects/default/routes", { name: "compared", targets: ["sandbox:echo"] });
    const made = await visits.signedIn("/default/default/routes/compared");
    const { page } = made;
    await page.getByLabel("Target of the mirror").fill("sandbox:words-7");
    await page.getByText("Your draft is kept").waitFor();
    await page.getByRole("button", { name: "Look at the change and publish" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Publish compared" });
    await dialog.getByText("sandbox:words-7 gets copies of calls, as a mirror.").waitFor();
    await dialog.getByRole("button", { name: "Publish", exact: true }).press("Enter");
    await page.getByRole("region", { name: "Published" }).waitFor();
    const answer = await (
      await visits.gateway.chat({ route: "compared", messages: [{ role: "user", content: "Hello" }] })
    ).text();
    expect(answer).not.toBe("");
    const compared = async (): Promise<any> => await admin("GET", "/projects/default/routes/compared/compare");
    await until(async () => (await compared()).pairs === 1);
    await page.goto(new URL("/console/default/default/routes/compared?tab=mirror", page.url()).href);
    await page.getByRole("row", { name: /Targets .*sandbox:echo: 1.*sandbox:words-7: 1/ }).waitFor();
    expect(await made.axe()).toEqual([]);
    await page.getByRole("link", { name: "its copy" }).click();
    await page.getByRole("link", { name: "the client’s call" }).click();
    await page.getByRole("link", { name: "a copy of this call" }).waitFor();
    expect(await made.axe()).toEqual([]);
  });
});
