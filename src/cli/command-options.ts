// Options that several commands have, what their values may be, and how a command is found that another part has added.
import { type Command, InvalidArgumentError, Option } from "commander";

/** Sets the exit code of the program. */
export type SetCode = (code: number) => void;

export const json = () => new Option("--json", "print JSON");
export const config = () =>
  new Option("--config <file>", "configuration file (default: DRAGOMAN_CONFIG, or dragoman.yaml in this folder)");
export const data = () => new Option("--data <folder>", "data folder (default: DRAGOMAN_DATA, or ./data)");

/** Throws InvalidArgumentError. */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError("expected a number above 0");
  return value;
}

/** Throws InvalidArgumentError. */
export function numberFromZero(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!(value >= 0) || !Number.isFinite(value)) throw new InvalidArgumentError("expected a number of 0 or more");
  return value;
}

/** Returns the command of this name, which is there already. */
export function commandOf(program: Command, name: string): Command {
  return program.commands.find((command) => command.name() === name)!;
}
