// The file of a backup: a line of JSON that says how the rest is to be read, and then frames. With a passphrase, each
// frame is encrypted (AES-256-GCM under a key that scrypt makes of the passphrase), else it has a SHA-256. Both include
// the first line, the number of the frame and whether it is the last one: a frame that is changed, missing, moved or cut
// off is found. https://nodejs.org/api/crypto.html
import { createCipheriv, createDecipheriv, createHash, randomBytes, scryptSync } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { zstdDecompressSync } from "node:zlib";
import { z } from "zod";
import { OWNERS_FILE } from "../database/owner-only.ts";
import { StoreError } from "../store-error.ts";

/** What one frame holds of text before it is compressed. */
const FRAME_BYTES = 1024 * 1024;
/** No frame is that large, compressed or not: a damaged length is not believed, and a few bytes fill no memory. */
const MOST_FRAME_BYTES = 256 * 1024 * 1024;
const MOST_HEADER_BYTES = 4096;
const TAG_BYTES = 16;
const HASH_BYTES = 32;
const HEAD_BYTES = 5;
/** Takes about a tenth of a second and 64 MiB. */
const SCRYPT = { n: 65_536, r: 8, p: 1 } as const;
const SCRYPT_MEMORY = 256 * 1024 * 1024;

const HEADER = z.object({
  format: z.literal("dragoman-backup"),
  version: z.literal(1),
  encryption: z
    .object({
      cipher: z.literal("aes-256-gcm"),
      kdf: z.literal("scrypt"),
      n: z.int().min(1024).max(1_048_576),
      r: z.int().min(1).max(16),
      p: z.int().min(1).max(4),
      salt: z.string(),
    })
    .nullable(),
});
type Header = z.infer<typeof HEADER>;

export type BackupWriter = ReturnType<typeof openBackupWriter>;

/** Throws the system's error, also when the file exists already. */
export function openBackupWriter(file: string, passphrase: string | null) {
  const handle = openSync(file, "wx", OWNERS_FILE);
  const salt = randomBytes(16);
  const header: Header = {
    format: "dragoman-backup",
    version: 1,
    encryption:
      passphrase === null ? null : { cipher: "aes-256-gcm", kdf: "scrypt", ...SCRYPT, salt: salt.toString("base64") },
  };
  const first = Buffer.from(`${JSON.stringify(header)}\n`);
  const frames = framesOf(first, header, passphrase);
  let lines: string[] = [];
  let bytes = 0;
  let number = 0;
  let isOpen = true;
  const flush = (isLast: boolean): void => {
    const frame = frames.seal(Bun.zstdCompressSync(Buffer.from(lines.join("\n"))), number++, isLast);
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(frame.length, 0);
    head.writeUInt8(isLast ? 1 : 0, 4);
    writeAll(handle, head);
    writeAll(handle, frame);
    lines = [];
    bytes = 0;
  };
  writeAll(handle, first);
  return {
    /** One line of text, without a line break. */
    line(text: string): void {
      lines.push(text);
      bytes += text.length;
      if (bytes >= FRAME_BYTES) flush(false);
    },
    /** Writes the rest to the disk and closes the file. */
    end(): void {
      flush(true);
      fsyncSync(handle);
      isOpen = false;
      closeSync(handle);
    },
    /** Closes the file without an end, if it is open: it is no backup. */
    abandon(): void {
      if (isOpen) closeSync(handle);
    },
  };
}

/** The lines of a backup. Throws StoreError `invalid` when any part of it is not as it was written. */
export function* backupLines(file: string, passphrase: string | null): Iterable<string> {
  const handle = openSync(file, "r");
  try {
    // reading a folder fails with an error that does not name it
    const first = fstatSync(handle).isDirectory() ? new Uint8Array() : headerLine(handle, file);
    const header = parsedHeader(first, file);
    if (header.encryption !== null && passphrase === null)
      throw new StoreError(
        "invalid",
        `The backup ${file} is encrypted. Give its passphrase in a file with --passphrase-file, or in DRAGOMAN_BACKUP_PASSPHRASE.`,
      );
    // Without this check, an attacker who can write to the folder of the backups could replace one by a forged file.
    if (header.encryption === null && passphrase !== null)
      throw new StoreError(
        "invalid",
        `The backup ${file} is not encrypted, although a passphrase is given, so anybody may have written it. Leave out --passphrase-file and DRAGOMAN_BACKUP_PASSPHRASE to use it all the same.`,
      );
    const frames = orInvalid(
      () => framesOf(first, header, passphrase),
      `The first line of the backup ${file} was changed: no key can be made as it says. Use another copy of it.`,
    );
    for (let number = 0, isLast = false; !isLast; number++) {
      const head = readExactly(handle, HEAD_BYTES);
      if (head === null) throw cutOff(file);
      const length = head.readUInt32BE(0);
      isLast = head.readUInt8(4) === 1;
      const frame = length > MOST_FRAME_BYTES ? null : readExactly(handle, length);
      if (frame === null) throw cutOff(file);
      const text = openFrame(() => frames.open(frame, number, isLast), file, number, header.encryption !== null);
      if (text !== "") yield* text.split("\n");
    }
    if (readExactly(handle, 1) !== null)
      throw new StoreError("invalid", `The backup ${file} has bytes behind its end. Use another copy of it.`);
  } finally {
    closeSync(handle);
  }
}

interface Frames {
  seal(content: Uint8Array, number: number, isLast: boolean): Uint8Array;
  /** Throws when the frame is not as it was sealed. */
  open(frame: Uint8Array, number: number, isLast: boolean): Uint8Array;
}

function framesOf(first: Uint8Array, { encryption }: Header, passphrase: string | null): Frames {
  const placeOf = (number: number, isLast: boolean): Buffer => {
    const place = Buffer.alloc(9);
    place.writeBigUInt64BE(BigInt(number), 0);
    place.writeUInt8(isLast ? 1 : 0, 8);
    return Buffer.concat([createHash("sha256").update(first).digest(), place]);
  };
  if (encryption === null || passphrase === null) {
    const hashOf = (content: Uint8Array, number: number, isLast: boolean): Buffer =>
      createHash("sha256").update(placeOf(number, isLast)).update(content).digest();
    return {
      seal: (content, number, isLast) => Buffer.concat([hashOf(content, number, isLast), content]),
      open(frame, number, isLast) {
        const content = frame.subarray(HASH_BYTES);
        if (!hashOf(content, number, isLast).equals(frame.subarray(0, HASH_BYTES))) throw new Error("it was changed");
        return content;
      },
    };
  }
  const { n, r, p, salt } = encryption;
  const key = scryptSync(passphrase.normalize("NFC"), Buffer.from(salt, "base64"), 32, {
    N: n,
    r,
    p,
    maxmem: SCRYPT_MEMORY,
  });
  // A number is used once under a key, because each file has a salt of its own.
  const nonceOf = (number: number): Buffer => {
    const nonce = Buffer.alloc(12);
    nonce.writeBigUInt64BE(BigInt(number), 4);
    return nonce;
  };
  return {
    seal(content, number, isLast) {
      const cipher = createCipheriv("aes-256-gcm", key, nonceOf(number)).setAAD(placeOf(number, isLast));
      return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
    },
    open(frame, number, isLast) {
      const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(number), { authTagLength: TAG_BYTES });
      decipher.setAAD(placeOf(number, isLast)).setAuthTag(frame.subarray(frame.length - TAG_BYTES));
      return Buffer.concat([decipher.update(frame.subarray(0, frame.length - TAG_BYTES)), decipher.final()]);
    },
  };
}

function openFrame(open: () => Uint8Array, file: string, number: number, isEncrypted: boolean): string {
  const damaged = `The backup ${file} was changed or damaged in frame ${number + 1}. Use another copy of it.`;
  const content = orInvalid(
    open,
    isEncrypted && number === 0
      ? `The backup ${file} cannot be decrypted: the passphrase is another one, or the file was changed. Check the passphrase, or use another copy of the file.`
      : damaged,
  );
  return orInvalid(() => zstdDecompressSync(content, { maxOutputLength: MOST_FRAME_BYTES }), damaged).toString("utf8");
}

const cutOff = (file: string): StoreError =>
  new StoreError("invalid", `The backup ${file} is incomplete: its end is missing. Use another copy of it.`);

function parsedHeader(first: Uint8Array, file: string): Header {
  return orInvalid(
    () => HEADER.parse(JSON.parse(Buffer.from(first).toString("utf8"))),
    `The file ${file} is no backup that this version can read. Name a file that dragoman backup has written, and use at least the version that wrote it.`,
  );
}

/** Throws StoreError `invalid` with the message where `read` throws, whose error is its cause. */
function orInvalid<T>(read: () => T, message: string): T {
  try {
    return read();
  } catch (error) {
    throw new StoreError("invalid", message, error);
  }
}

/** With its line break; less when there is none. */
function headerLine(handle: number, file: string): Uint8Array {
  const bytes: number[] = [];
  for (;;) {
    const one = readExactly(handle, 1);
    if (one === null) throw cutOff(file);
    bytes.push(one[0]!);
    if (one[0] === 0x0a || bytes.length > MOST_HEADER_BYTES) return Uint8Array.from(bytes);
  }
}

function writeAll(handle: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(handle, bytes, at);
}

/** `null` when the file ends before. */
function readExactly(handle: number, length: number): Buffer | null {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length;) {
    const count = readSync(handle, bytes, at, length - at, null);
    if (count === 0) return null;
    at += count;
  }
  return bytes;
}
