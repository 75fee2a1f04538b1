// What the journal needs from the disk, so that tests can simulate one that is full, slow or broken; and the real disk.
import {
  close,
  closeSync,
  existsSync,
  fdatasync,
  fsync,
  ftruncateSync,
  open,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  write,
  writeSync,
} from "node:fs";
import { appendFile, rename, statfs, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { RESERVE_FILLING } from "./journal-entry.ts";
import { OWNERS_FILE } from "../database/owner-only.ts";

export interface JournalDisk {
  /** Creates a file. Throws when it exists. */
  create(path: string): number;
  /** Passes bytes to the operating system. Returns how many it accepted, or throws the system's error. */
  write(fd: number, bytes: Buffer, length: number, position: number): number;
  truncate(fd: number, length: number): void;
  /**
   * Writes zeros to a range, so that the file system need not allocate anything for later writes there. Does not block
   * the event loop.
   */
  zero(fd: number, from: number, to: number): Promise<void>;
  /** Resolves when everything written is on the disk. Does not block the event loop. */
  sync(fd: number): Promise<void>;
  syncFolder(folder: string): Promise<void>;
  close(fd: number): void;
  /**
   * Makes a file of this size. Rejects when less than twice as much space is free, counting `freed`, which is given
   * back as soon as the file exists.
   */
  reserve(path: string, bytes: number, freed: number): Promise<void>;
  /** Opens an existing file under another name, so that its space is reused. Throws when that name is taken. */
  takeOver(path: string, name: string): number;
  /** The total size in bytes of the disk of this folder. */
  size(folder: string): number;
  remove(path: string): void;
  rename(path: string, to: string): void;
  /** Replaces the content of a file atomically; on the disk when it resolves. */
  replace(path: string, text: string): Promise<void>;
  /** Appends to a file; on the disk when it resolves. */
  append(path: string, text: string): Promise<void>;
}

const ZEROS = Buffer.alloc(128 * 1024);

/** Written in pieces, because nothing else can be written to the file meanwhile. */
async function writeZeros(fd: number, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += ZEROS.length) {
    const length = Math.min(ZEROS.length, to - at);
    await new Promise<void>((resolve, reject) =>
      write(fd, ZEROS, 0, length, at, (fault, written) =>
        fault === null || fault === undefined
          ? written === length
            ? resolve()
            : reject(new Error(`the disk accepted only ${written} of ${length} bytes`))
          : reject(fault),
      ),
    );
  }
}

export const systemDisk: JournalDisk = {
  create: (path) => openSync(path, "wx+", OWNERS_FILE),
  write: (fd, bytes, length, position) => writeSync(fd, bytes, 0, length, position),
  truncate: (fd, length) => ftruncateSync(fd, length),
  zero: writeZeros,
  sync: (fd) =>
    new Promise((resolve, reject) =>
      fdatasync(fd, (fault) => (fault === null || fault === undefined ? resolve() : reject(fault))),
    ),
  syncFolder: (folder) =>
    new Promise((resolve, reject) => {
      open(folder, "r", (fault, fd) => {
        if (fault !== null && fault !== undefined) return reject(fault);
        fsync(fd, (failed) => close(fd, () => (failed === null || failed === undefined ? resolve() : reject(failed))));
      });
    }),
  close: (fd) => closeSync(fd),
  async reserve(path, bytes, freed) {
    // An attempt would use the space that closing entries may need meanwhile.
    const { bavail, bsize } = await statfs(dirname(path));
    const free = bavail * bsize + freed;
    if (free < 2 * bytes)
      throw Object.assign(
        new Error(
          `the disk of ${dirname(path)} has only ${free} free bytes, but needs ${2 * bytes}: half of them are reserved in the file ${basename(path)} for the rows of calls in flight when the disk is full`,
        ),
        { code: "ENOSPC" },
      );
    // Zeros would not do, because a file system may store them without using space.
    await writeFile(path, Buffer.alloc(bytes, RESERVE_FILLING), { mode: OWNERS_FILE, flush: true });
  },
  takeOver(path, name) {
    // No other process can take the name meanwhile, because this one holds the lock of the folder.
    if (existsSync(name)) throw Object.assign(new Error(`EEXIST: ${name} is there`), { code: "EEXIST" });
    const fd = openSync(path, "r+");
    try {
      renameSync(path, name);
    } catch (fault) {
      closeSync(fd);
      throw fault;
    }
    return fd;
  },
  size(folder) {
    const { blocks, bsize } = statfsSync(folder);
    return blocks * bsize;
  },
  remove: (path) => rmSync(path, { force: true }),
  rename: (path, to) => renameSync(path, to),
  async replace(path, text) {
    const next = `${path}.next`;
    await writeFile(next, text, { mode: OWNERS_FILE, flush: true });
    await rename(next, path);
  },
  append: (path, text) => appendFile(path, text, { mode: OWNERS_FILE, flush: true }),
};
