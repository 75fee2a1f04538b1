// Writes calls as lines of JSON to a file, which is rotated by size and age, compressed, and finally removed.
// https://jsonlines.org A batch is written as a whole, or is truncated and retried later; a partial line that a killed
// process left is removed at the next start.
import { constants, createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type Clock, systemClock } from "../../../core/clock.ts";
import { callJson } from "../../call-json.ts";
import type { JsonLinesSettings } from "./json-lines-settings.ts";
import type { RecordedCall, Sink } from "../sink.ts";

const OWNER_ONLY = 0o600;
const TAIL_BYTES = 64 * 1024;
const NEWLINE = 10;
const HALF = ".partial";

export type JsonLinesFile = Pick<JsonLinesSettings, "path" | "maxBytes" | "rotateMs" | "keepFiles" | "compress">;

export async function openJsonLinesSink(
  settings: JsonLinesFile,
  clock: Pick<Clock, "now"> = systemClock,
): Promise<Sink> {
  const sink = new LineFile(settings, clock);
  await sink.start();
  return sink;
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly inode: number;
  readonly bornMs: number;
  size: number;
}

/** The current file and the rotated ones. It is a class because its state lives as long as the file is open. */
class LineFile implements Sink {
  readonly #settings: JsonLinesFile;
  readonly #path: string;
  readonly #clock: Pick<Clock, "now">;
  #file: OpenFile | null = null;
  /** One batch is written after the other: a disk may take longer for one than its delivery may take. */
  #writing: Promise<void> = Promise.resolve();
  /** Compression runs beside the writing. */
  #tidying: Promise<void> = Promise.resolve();

  constructor(settings: JsonLinesFile, clock: Pick<Clock, "now">) {
    this.#settings = settings;
    this.#path = resolve(settings.path);
    this.#clock = clock;
  }

  async start(): Promise<void> {
    this.#file = await this.#open();
    this.#tidy();
  }

  deliver(calls: readonly RecordedCall[], signal: AbortSignal): Promise<void> {
    const written = this.#writing.then(() => this.#write(calls, signal));
    this.#writing = written.catch(() => {});
    return written;
  }

  /** A batch whose time is over is delivered again, so nothing of it stays in the file. */
  async #write(calls: readonly RecordedCall[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const bytes = Buffer.from(`${calls.map(callJson).join("\n")}\n`);
    const file = await this.#current(bytes.length);
    try {
      let written = 0;
      while (written < bytes.length)
        written += (await file.handle.write(bytes, written, bytes.length - written)).bytesWritten;
      signal.throwIfAborted();
      file.size += bytes.length;
    } catch (fault) {
      // A partial line would make the next one unreadable.
      await file.handle.truncate(file.size).catch(() => {});
      throw fault;
    }
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file?.handle.close();
    this.#file = null;
    await this.#tidying;
  }

  /** Returns the file to which `more` bytes can be written. */
  async #current(more: number): Promise<OpenFile> {
    const { maxBytes, rotateMs } = this.#settings;
    let file = this.#file;
    const found = file === null ? null : await stat(this.#path).catch(() => null);
    if (file !== null && found?.ino === file.inode) file.size = found.size;
    // Another program has moved or removed the file.
    else if (file !== null) {
      this.#file = null;
      await file.handle.close();
      file = null;
    }
    file ??= this.#file = await this.#open();
    // after the clock was set back, the file is as old as it can be
    const isOld = rotateMs !== null && Math.abs(this.#clock.now() - file.bornMs) >= rotateMs;
    if (file.size === 0 || (file.size + more <= maxBytes && !isOld)) return file;
    this.#file = null;
    await file.handle.close();
    await rename(this.#path, await this.#asideName());
    this.#tidy();
    return (this.#file = await this.#open());
  }

  async #open(): Promise<OpenFile> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    const handle = await open(this.#path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, OWNER_ONLY);
    try {
      const { ino, size, birthtimeMs, mtimeMs } = await handle.stat();
      const whole = await wholeLines(handle, size);
      if (whole < size) await handle.truncate(whole);
      // Not every file system stores the creation time of a file.
      const bornMs = size === 0 ? this.#clock.now() : birthtimeMs > 0 ? birthtimeMs : mtimeMs;
      return { handle, inode: ino, bornMs, size: whole };
    } catch (fault) {
      await handle.close();
      throw fault;
    }
  }

  /** A name behind those of all rotated files, also when the clock was set back: the first ones are removed first. */
  async #asideName(): Promise<string> {
    const last = (await this.#aside()).at(-1)?.slice(basename(this.#path).length + 1) ?? "";
    const stamps = [timeOfStamp(last) + 1, this.#clock.now()].filter(Number.isFinite);
    return `${this.#path}.${new Date(Math.max(...stamps)).toISOString().replaceAll(":", "-")}`;
  }

  /** The names of rotated files, the oldest first. */
  async #aside(): Promise<readonly string[]> {
    const prefix = `${basename(this.#path)}.`;
    return (await readdir(dirname(this.#path)))
      .filter((name) => name.startsWith(prefix) && ASIDE.test(name.slice(prefix.length)))
      .toSorted();
  }

  /**
   * Compresses rotated files, including those of an earlier process, and removes surplus ones. A failure is retried at
   * the next rotation.
   */
  #tidy(): void {
    this.#tidying = this.#tidying.then(() => this.#tidyNow()).catch(() => {});
  }

  async #tidyNow(): Promise<void> {
    const folder = dirname(this.#path);
    const names = await this.#aside();
    for (const name of names.filter((each) => each.endsWith(HALF))) await rm(join(folder, name), { force: true });
    const aside = names.filter((name) => !name.endsWith(HALF));
    const surplus = aside.slice(0, Math.max(0, aside.length - this.#settings.keepFiles));
    for (const name of surplus) await rm(join(folder, name), { force: true });
    if (!this.#settings.compress) return;
    for (const name of aside.slice(surplus.length).filter((each) => !each.endsWith(".gz")))
      await compress(join(folder, name));
  }
}

const ASIDE = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z(-\d+)?(\.gz)?(\.partial)?$/;

/** Returns when a file was rotated, in milliseconds since 1970; `text` follows the configured name in its own. NaN for other files. */
function timeOfStamp(text: string): number {
  return Date.parse(text.slice(0, 24).replace(/T(\d\d)-(\d\d)-/, "T$1:$2:"));
}

async function compress(path: string): Promise<void> {
  const half = `${path}.gz${HALF}`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(half, { mode: OWNER_ONLY }));
  await rename(half, `${path}.gz`);
  await rm(path, { force: true });
}

/** Returns the number of bytes up to the last line break. */
async function wholeLines(handle: FileHandle, size: number): Promise<number> {
  const buffer = Buffer.alloc(TAIL_BYTES);
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - TAIL_BYTES);
    const { bytesRead } = await handle.read(buffer, 0, end - start, start);
    const at = buffer.subarray(0, bytesRead).lastIndexOf(NEWLINE);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}
