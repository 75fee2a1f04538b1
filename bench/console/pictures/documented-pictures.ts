// The pictures of docs/console.md and of the README: the first window of a page, small enough to be kept with the text.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { projectFolder } from "../../../test/harness/processes/gateway-program.ts";
import type { Picture } from "./pages.ts";

/** Names of pictures. */
const DOCUMENTED = [
  "overview",
  "calls",
  "call-fallback",
  "usage-by-two",
  "limits",
  "limit-budget",
  "play-answered",
  "start",
  "route",
  "provider",
  "models",
  "prices",
  "policy",
  "tool-server-in-use",
  "tokens",
  "people",
  "audit",
  "settings",
];
/** The README shows these in the theme of its reader. */
const IN_BOTH_THEMES: ReadonlySet<string> = new Set(["overview"]);
const SIZE = { width: 1280, height: 860 };
const SCALE = 1.25;
/** The first with which a picture is small enough. */
const QUALITIES = [0.85, 0.75, 0.6, 0.45];
const LARGEST_BYTES = 150_000;

export interface Photographer {
  /** Opens the page of a picture, with what is done on it. */
  readonly opened: (
    picture: Picture,
    options: BrowserContextOptions,
  ) => Promise<{ page: Page; close(): Promise<void> }>;
}

export async function documentedPictures(
  browser: Browser,
  pictures: readonly Picture[],
  { opened }: Photographer,
): Promise<readonly string[]> {
  const folder = join(projectFolder, "docs", "images");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const darkroom = await browser.newPage();
  const written: string[] = [];
  for (const name of DOCUMENTED) {
    const picture = pictures.find((one) => one.name === name && one.state === "full");
    if (picture === undefined) throw new Error(`there is no picture ${name}`);
    for (const colorScheme of IN_BOTH_THEMES.has(name) ? (["light", "dark"] as const) : (["light"] as const)) {
      const shown = await opened(picture, { colorScheme, viewport: SIZE, deviceScaleFactor: SCALE });
      // on a busy machine a simulation may take longer than it may
      if ((await shown.page.locator("main .problem").count()) > 0)
        throw new Error(`the page of ${name} shows a failure`);
      const bytes = await smallPicture(darkroom, await shown.page.screenshot());
      await shown.close();
      const file = `console-${name}${colorScheme === "dark" ? "-dark" : ""}.webp`;
      if (bytes.length > LARGEST_BYTES) throw new Error(`${file} has ${bytes.length} bytes`);
      writeFileSync(join(folder, file), bytes);
      written.push(`${file} ${Math.round(bytes.length / 1000)} kB`);
    }
  }
  await darkroom.close();
  return written;
}

async function smallPicture(page: Page, png: Buffer): Promise<Buffer> {
  let bytes = png;
  for (const quality of QUALITIES) {
    bytes = await webp(page, png, quality);
    if (bytes.length <= LARGEST_BYTES) break;
  }
  return bytes;
}

/** Encoded by the browser, which can. */
async function webp(page: Page, png: Buffer, quality: number): Promise<Buffer> {
  const text = await page.evaluate<string>(`(async () => {
    const bytes = Uint8Array.from(atob(${JSON.stringify(png.toString("base64"))}), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    const blob = await canvas.convertToBlob({ type: "image/webp", quality: ${quality} });
    return btoa(Array.from(new Uint8Array(await blob.arrayBuffer()), (byte) => String.fromCharCode(byte)).join(""));
  })()`);
  return Buffer.from(text, "base64");
}
