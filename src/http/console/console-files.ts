// The built files of the console: pages, scripts and styles that are the same for everybody. A file whose name has a hash
// of its content never changes, so browsers keep it; the page that names these files is always asked for.
import { stat } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { notFound } from "../../core/refusals.ts";
import { PAGE_HEADERS } from "./page-headers.ts";

export type ConsoleFiles = ReturnType<typeof openConsoleFiles>;

const SHELL = "index.html";
/** A name that begins with a letter or digit, so that neither hidden files nor `..` are names. */
const FILE = /^[A-Za-z0-9_][\w.-]*(?:\/[A-Za-z0-9_][\w.-]*)*$/;
/** As Bun names what it builds: `chunk-8x2kq0ap.js`. */
const HASHED = /-[a-z0-9]{8}\.[a-z0-9]+$/;
/** What a page that was loaded before an update may still ask for; it is never the path of a screen. */
const BUILT = /-[a-z0-9]{8}\.(?:js|css|map|svg|woff2)$/;
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  json: "application/json",
  map: "application/json",
  txt: "text/plain; charset=utf-8",
  png: "image/png",
  ico: "image/x-icon",
  woff2: "font/woff2",
};
const PACKED_ALREADY = new Set(["png", "ico", "woff2"]);
const WORTH_PACKING_BYTES = 1024;

type KnownFile = Awaited<ReturnType<typeof readFile>>;

/** `pathOf` returns the path of the file with a name, or null when no such file exists. The file may be written later. */
export function openConsoleFiles(pathOf: (name: string) => string | null) {
  const known = new Map<string, KnownFile>();
  const find = async (path: string): Promise<KnownFile | null> => {
    const file = pathOf(path);
    const found = file === null ? null : await stat(file).catch(() => null);
    if (file === null || found === null || !found.isFile()) return null;
    const before = known.get(path);
    if (before !== undefined && before.changedMs === found.mtimeMs) return before;
    const read = await readFile(file, path, found.mtimeMs);
    known.set(path, read);
    return read;
  };
  return {
    /**
     * Returns the response to `GET /console/<path>`: a file, or the page that finds the screen by its path. `basePath`
     * stands before `/console` in the browser.
     */
    async serve(path: string, request: Request, basePath: string): Promise<Response> {
      const named = FILE.test(path) && path !== SHELL ? await find(path) : null;
      if (named !== null) return fileResponse(path, named, request);
      if (BUILT.test(path)) throw notFound("There is no such file of the console; load the page again.");
      const shell = await find(SHELL);
      if (shell === null)
        throw notFound(
          "The files of the console have not been built. Run `npm run console:build` in the folder of the checkout, or install the package, which contains them.",
        );
      return fileResponse(SHELL, basePath === "" ? shell : below(basePath, shell), request);
    },
  };
}

/** The page with the addresses of its files as the browser has to ask for them. */
function below(basePath: string, { bytes, ...file }: KnownFile): KnownFile {
  const text = new TextDecoder().decode(bytes).replaceAll('="/console/', `="${basePath}/console/`);
  return { ...file, bytes: new TextEncoder().encode(text), packed: null };
}

const packedBytes = promisify<Uint8Array, { readonly level: number }, Buffer>(gzip);

async function readFile(file: string, path: string, changedMs: number) {
  const bytes = await Bun.file(file).bytes();
  const worthIt = bytes.length >= WORTH_PACKING_BYTES && !PACKED_ALREADY.has(endingOf(path));
  const packed = worthIt ? new Uint8Array(await packedBytes(bytes, { level: 9 })) : null;
  return {
    etag: `"${new Bun.CryptoHasher("sha256").update(bytes).digest("base64url").slice(0, 22)}"`,
    bytes,
    /** `null` where packing saves nothing. */
    packed,
    changedMs,
  };
}

/** A coding with the weight 0 is refused (RFC 9110 12.5.3). */
const TAKES_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

function fileResponse(path: string, { etag, bytes, packed }: KnownFile, { method, headers: asked }: Request): Response {
  const headers: Record<string, string> = {
    ...PAGE_HEADERS,
    "content-type": TYPES[endingOf(path)] ?? "application/octet-stream",
    "cache-control":
      path === SHELL ? "no-store" : HASHED.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
    vary: "accept-encoding",
    ...(path !== SHELL && { etag }),
  };
  if (path !== SHELL && asked.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
  const takesPacked = packed !== null && TAKES_GZIP.test(asked.get("accept-encoding") ?? "");
  if (takesPacked) headers["content-encoding"] = "gzip";
  return new Response(method === "HEAD" ? null : takesPacked ? packed : bytes, { headers });
}

function endingOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}
