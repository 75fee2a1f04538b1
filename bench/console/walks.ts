// All screens of the console over stores with no call, one, ten thousand and as many as are asked for: nothing fails, what is there is shown, and how
// long each takes.
import { figuresTable } from "../../docs/generators/markdown.ts";
import { launch, openConsole } from "../../test/harness/console/chromium.ts";
import { walkedScreens } from "../../test/harness/console/walk.ts";
import { openStoreGateway, type StoreKind } from "./stores.ts";

const SCOPE = "/default/-";
const RANGES = ["", "?range=30d"] as const;

/** `folder` is where the largest store is kept. */
export async function walkedStores(
  program: string,
  kind: StoreKind,
  most: number,
  folder: string | null,
): Promise<string> {
  const tables: string[] = [];
  for (const rows of [0, 1, 10_000, most]) {
    const { gateway, token, close } = await openStoreGateway({ kind, rows, folder: rows === most ? folder : null });
    const browser = await launch(program);
    try {
      const made = await openConsole(browser, gateway.url);
      await made.open(`${SCOPE}/calls`);
      await made.signIn(token);
      const lines: string[][] = [];
      for (const range of RANGES)
        for (const { title, shownMs, slowest, rows: shown } of await walkedScreens(made, SCOPE, range)) {
          if (title === "Calls" && (shown === 0) !== (rows === 0))
            throw new Error(`${title} shows ${shown} of ${rows} calls`);
          lines.push([
            `${title}${range === "" ? "" : ", 30 days"}`,
            String(shown),
            shownMs.toFixed(0),
            slowest.ms.toFixed(0),
            slowest.path.replace(/^\/admin/, "").slice(0, 90),
          ]);
        }
      if (made.faults.length > 0) throw new Error(`The browser reports: ${made.faults.join("\n")}`);
      console.error(`${kind} with ${rows} calls is done`);
      tables.push(
        `${kind}, ${rows.toLocaleString("en")} calls`,
        figuresTable(["page", "rows", "ms until everything is there", "ms of the slowest request", "which"], lines),
      );
    } finally {
      await browser.close();
      await close();
    }
  }
  return tables.join("\n\n");
}
