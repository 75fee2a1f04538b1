// `npm run console:screenshots [-- <word>]`: pictures of each screen of the console, in both themes and three widths, in console/screenshots. They are
// there to be looked at: nothing compares them. A word narrows to the screens whose name contains it.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { chromiumProgram, launch, openConsole, startConsoleGateway } from "../test/harness/chromium.ts";
import { CONSOLE_SCREENS } from "../test/harness/console-screens.ts";
import { projectFolder } from "../test/harness/gateway-program.ts";

const WIDTHS = [390, 1280, 1920] as const;
const THEMES = ["light", "dark"] as const;
const MODELS = ["echo", "words-40", "fail-429", "slow-80", "fail-500", "words-300"];
const CALLS = 60;
const CONFIG = `prices: {words: {model: "sandbox:words-*", prompt: "0.30", completion: "1.20"}}
routes: {chat: {targets: ["sandbox:words-40", "sandbox:echo"]}}
tenants:
  default:
    budgets: {team-month: {usd: "0.01", window: month}, site-day: {usd: "5.00", window: day}}
    limits: {per-user: {metric: requests, window: hour, limit: 30, scope: {user: "*"}, mode: audit}, burst: {metric: requests, window: minute, limit: 600}}
`;

const program = chromiumProgram();
if (program === null) process.exit(1);
const word = process.argv[2] ?? "";
const folder = join(projectFolder, "console", "screenshots");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const gateway = await startConsoleGateway({ config: CONFIG });
try {
  const token = await gateway.createToken("--personal", "--user", "owner");
  for (let at = 0; at < CALLS; at += 1)
    await (
      await gateway.chat({
        model: `sandbox:${MODELS[at % MODELS.length]!}`,
        ...(at % 5 === 4 && { fallbacks: ["sandbox:assistant"] }),
        stream: at % 2 === 0,
        user: ["ann", "bob", "carla"][at % 3],
        temperature: 0.4,
        metadata: { team: at % 4 === 0 ? "search" : "core" },
        messages: [{ role: "user", content: `Question ${at}` }],
      })
    ).text();
  const listed = await fetch(`${gateway.url}/api/v1/admin/logs?min_attempts=2`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { data } = (await listed.json()) as { readonly data: readonly { readonly trace_id: string }[] };
  const trace = data[0]?.trace_id ?? "";
  const screens: Readonly<Record<string, string>> = {
    ...Object.fromEntries(
      CONSOLE_SCREENS.map(({ path }) => [path.slice(1) === "" ? "overview" : path.slice(1), `/default/default${path}`]),
    ),
    "overview-of-tenant": "/default/-/",
    "limit-budget": "/default/-/limits/file.tenants.default.budgets.team-month",
    "limit-values": "/default/-/limits/file.tenants.default.limits.per-user",
    "limit-new": "/default/-/limits/~new",
    provider: "/default/-/providers/sandbox",
    "provider-capabilities": "/default/-/providers/sandbox?tab=capabilities",
    "calls-open": `/default/-/calls?open=${trace}`,
    "calls-empty": "/default/-/calls?q=route%3Anone",
    call: `/default/-/calls/${trace}`,
    "call-missing": `/default/-/calls/${"0".repeat(32)}`,
    "usage-by-two": "/default/-/usage?by=model,end_user",
    "usage-empty": "/default/-/usage?from=2020-01-01T00%3A00%3A00.000Z&to=2020-01-02T00%3A00%3A00.000Z",
    "route-new": "/default/default/routes/~new",
    "people-of-tenant": "/default/-/people",
    "not-allowed": "/nowhere/-/calls",
  };
  const browser = await launch(program);
  for (const colorScheme of THEMES)
    for (const width of WIDTHS) {
      const shown = await openConsole(browser, gateway.url, { colorScheme, viewport: { width, height: 900 } });
      await shown.open("/");
      await shown.page.getByLabel("Personal access token").waitFor();
      await shown.page.screenshot({ path: join(folder, `login-${colorScheme}-${width}.png`) });
      await shown.signIn(token);
      for (const [name, path] of Object.entries(screens).filter(([one]) => one.includes(word))) {
        await shown.open(path);
        await shown.settled();
        await shown.page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`) });
      }
      for (const fault of shown.faults) console.error(fault);
      await shown.close();
    }
  await browser.close();
} finally {
  await gateway.stop();
}
console.log(`pictures in ${folder}`);
