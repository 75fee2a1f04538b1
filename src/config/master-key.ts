// The master keys that encrypt secrets: from the environment, or from a file in the data folder, which a start creates
// when none is configured, there is no such file, and the database has no secrets. Of several keys the first one encrypts and all of them decrypt, so that a key can be
// changed while gateways run.
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../core/clock.ts";
import type { Variables } from "./expansion.ts";
import { ConfigurationError, problemIn } from "./problem.ts";
import { MASTER_KEY_BYTES } from "./secret-cipher.ts";
import { readSecretFile } from "./secret-file.ts";
import { codeOf } from "../core/thrown.ts";

export interface MasterKeys {
  /** `null` when the variable itself has the keys. */
  readonly file: string | null;
  /** From which variable the keys, or the name of their file, come; `null` for the gateway's own file in the data folder. */
  readonly variable: string | null;
  /** Reads the keys again. Throws ConfigurationError. */
  read(): readonly Uint8Array[];
}

const VARIABLE = "DRAGOMAN_MASTER_KEY";
const FILE_VARIABLE = "DRAGOMAN_MASTER_KEY_FILE";
/** The variables from which the keys come; with none of them they are in the data folder. */
export const MASTER_KEY_VARIABLES: readonly string[] = [VARIABLE, FILE_VARIABLE];
const CURE = "create one with: openssl rand -base64 32";

/**
 * With `mayCreate`, a key file is created when no key is configured and no file exists. Returns null when there is no
 * key and none may be created. Throws ConfigurationError, whose message never contains a key.
 */
export function findMasterKeys({
  environment,
  dataFolder,
  mayCreate,
}: {
  readonly environment: Variables;
  readonly dataFolder: string;
  readonly mayCreate: boolean;
}): MasterKeys | null {
  const text = environment.get(VARIABLE);
  if (text !== undefined) {
    const keys = parseKeys(text, VARIABLE);
    return { file: null, variable: VARIABLE, read: () => keys };
  }
  const named = environment.get(FILE_VARIABLE);
  const file = named ?? ownKeyFile(dataFolder);
  if (named === undefined && !existsSync(file)) {
    if (!mayCreate) return null;
    createKeyFile(file);
  }
  const read = (): readonly Uint8Array[] => {
    const found = readSecretFile(file);
    if ("problem" in found)
      throw named === undefined
        ? problem("master key", `${found.problem}; correct it, or set another file with ${FILE_VARIABLE}`)
        : problem(FILE_VARIABLE, found.problem);
    return parseKeys(found.text, file);
  };
  read();
  return { file, variable: named === undefined ? null : FILE_VARIABLE, read };
}

/** The gateway's own file, where no variable names another. */
export function ownKeyFile(dataFolder: string): string {
  return join(resolve(dataFolder), "master.key");
}

/** According to the file's permissions; false on systems without them. */
export function isReadableByOthers(file: string): boolean {
  return process.platform !== "win32" && ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;
}

/** How long the keys are used before their file is read again. */
const READ_AGAIN_MS = 1000;

/**
 * Returns what has the keys as they are now, for texts that do not name their key: one that was added is used by every
 * process, whenever it was started. The list is the same until the keys change, and stays where they cannot be read.
 */
export function followedKeys(masterKeys: MasterKeys, clock: Pick<Clock, "monotonic">): () => readonly Uint8Array[] {
  let known = masterKeys.read();
  if (masterKeys.file === null) return () => known;
  let readMs = clock.monotonic();
  return () => {
    const nowMs = clock.monotonic();
    if (nowMs - readMs < READ_AGAIN_MS) return known;
    readMs = nowMs;
    try {
      const keys = masterKeys.read();
      if (!isDeepStrictEqual(keys, known)) known = keys;
    } catch {
      // A command that needs the keys says why; what is sealed here goes on.
    }
    return known;
  };
}

/**
 * Puts a new key before the existing ones of the gateway's own file, and returns whether it did: keys that an operator
 * gives are the same on several gateways, so that one of them cannot add a key.
 */
export function addMasterKey(keys: MasterKeys): boolean {
  const { file, variable } = keys;
  if (file === null || variable !== null) return false;
  const beside = `${file}.${randomBytes(6).toString("hex")}`;
  writeKeys(beside, [randomBytes(MASTER_KEY_BYTES), ...keys.read()]);
  renameSync(beside, file);
  return true;
}

function parseKeys(text: string, place: string): readonly Uint8Array[] {
  const entries = text
    .replaceAll(/#.*/g, "")
    .split(/[\s,]+/)
    .filter((word) => word !== "");
  if (entries.length === 0) throw problem(place, `expected a key of 32 bytes in base64; ${CURE}`);
  return entries.map((word) => {
    const bytes = Buffer.from(word, "base64");
    if (bytes.length !== MASTER_KEY_BYTES || !/^[A-Za-z0-9+/_-]{43}=?$/.test(word))
      throw problem(place, `expected keys of 32 bytes in base64, the newest first; ${CURE}`);
    return new Uint8Array(bytes);
  });
}

function problem(path: string, message: string): ConfigurationError {
  return new ConfigurationError([
    MASTER_KEY_VARIABLES.includes(path) ? problemIn("environment", message, path) : problemIn(path, message),
  ]);
}

/** When several processes start at once, only one creates the file: a link is created atomically. */
function createKeyFile(file: string): void {
  const beside = `${file}.${randomBytes(6).toString("hex")}`;
  writeKeys(beside, [randomBytes(MASTER_KEY_BYTES)]);
  try {
    linkSync(beside, file);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(beside);
  }
}

function writeKeys(file: string, keys: readonly Uint8Array[]): void {
  const handle = openSync(file, "wx", 0o600);
  try {
    writeFileSync(handle, keys.map((key) => `${Buffer.from(key).toString("base64")}\n`).join(""));
    fsyncSync(handle);
  } catch (error) {
    rmSync(file);
    throw error;
  } finally {
    closeSync(handle);
  }
  chmodSync(file, 0o600);
}
