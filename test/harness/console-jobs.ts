// What people come to the console for, as scripts that do it by keyboard and count what a person does: a command by keys, a text with the
// Enter after it, or a click is one action each.
import type { ConsolePage } from "./chromium.ts";
import type { GatewayProcess } from "./gateway-process.ts";
import { untilFound } from "./until.ts";

export interface JobContext {
  readonly gateway: GatewayProcess;
  readonly made: ConsolePage;
  /** An access token for the admin API. */
  readonly token: string;
  /** Does one action. */
  readonly act: (action: () => Promise<void>) => Promise<void>;
}

export interface ConsoleJob {
  readonly name: string;
  /** The most actions that it may take. */
  readonly actions: number;
  /** What is there before somebody begins; it is not measured. */
  readonly prepare?: (context: Omit<JobContext, "act">) => Promise<string>;
  /** Ends when the answer is on the page. `prepared` is what `prepare` gave. */
  readonly run: (context: JobContext, prepared: string) => Promise<void>;
}

const HELLO = { model: "sandbox:echo", messages: [{ role: "user", content: "Hello, Dragoman!" }] };

/** Types a command that is a sequence of letters. */
async function keys({ page }: ConsolePage, ...letters: readonly string[]): Promise<void> {
  // at once, because a pause ends a sequence
  await Promise.all(letters.map((letter) => page.keyboard.press(letter)));
}

export const CONSOLE_JOBS: readonly ConsoleJob[] = [
  {
    name: "The first call works",
    actions: 2,
    run: async ({ gateway, made, act }) => {
      await act(() => keys(made, "g", "f"));
      const { page } = made;
      await page.getByText("curl ", { exact: false }).first().waitFor();
      // the command is run in a terminal
      await act(async () => void (await (await gateway.chat(HELLO)).text()));
      await page.getByText("Your call has arrived.").waitFor();
      await page.locator("main .verdict, main .headline").first().waitFor();
    },
  },
  {
    name: "Why did this call fail",
    actions: 2,
    prepare: async ({ gateway, token }) => {
      const answer = await gateway.chat({ ...HELLO, model: "sandbox:fail-429" });
      const text = await answer.text();
      const trace = answer.headers.get("x-gateway-trace-id")!;
      await untilFound(async () => {
        const found = await fetch(`${gateway.url}/api/v1/admin/calls/${trace}`, {
          headers: { authorization: `Bearer ${token}` },
        });
        await found.text();
        return found.ok;
      }, "the call is in the database");
      return text;
    },
    run: async ({ made, act }, error) => {
      const { page } = made;
      await act(() => page.keyboard.press("Control+k"));
      await act(async () => {
        await page.locator(".palette input").fill(error);
        await page.keyboard.press("Enter");
      });
      await page.locator("main .verdict").first().waitFor();
    },
  },
  {
    name: "Who spends what, by project and model",
    actions: 2,
    run: async ({ made, act }) => {
      const { page } = made;
      await act(() => keys(made, "g", "u"));
      await page.getByRole("table", { name: /Usage/ }).first().waitFor();
      await act(async () => void (await page.getByLabel("and by").selectOption("model")));
      await page
        .getByRole("table", { name: /and model/ })
        .first()
        .waitFor();
    },
  },
  {
    name: "Give a program an access token",
    actions: 3,
    run: async ({ made, act }) => {
      const { page } = made;
      await act(() => keys(made, "g", "t"));
      await page.getByRole("heading", { name: "Tokens", exact: true }).waitFor();
      await made.settled();
      await act(() => page.keyboard.press("c"));
      await act(async () => {
        await page.getByLabel("Name", { exact: true }).fill("nightly job");
        await page.keyboard.press("Enter");
      });
      await page.locator(".secret").waitFor();
      await page.getByRole("button", { name: "I have stored it" }).click();
    },
  },
  {
    name: "Show an auditor who made a token",
    actions: 3,
    run: async ({ made, act }) => {
      const { page } = made;
      await act(() => keys(made, "g", "a"));
      await page.getByRole("heading", { name: "Audit", exact: true }).waitFor();
      await made.settled();
      await act(() => page.getByLabel("Kind", { exact: true }).fill("token"));
      await made.settled();
      await act(() => page.locator(".history summary").first().click());
      await page.locator(".history dl.facts").first().waitFor();
    },
  },
];

export interface DoneJob {
  readonly actions: number;
  readonly ms: number;
}

export async function doneJob(job: ConsoleJob, context: Omit<JobContext, "act">): Promise<DoneJob> {
  const prepared = (await job.prepare?.(context)) ?? "";
  let actions = 0;
  const startedMs = performance.now();
  await job.run(
    {
      ...context,
      async act(action) {
        actions++;
        await action();
      },
    },
    prepared,
  );
  return { actions, ms: performance.now() - startedMs };
}
