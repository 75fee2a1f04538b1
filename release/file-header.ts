// For which system an executable is, by its own header.

/** e_machine of ELF, cputype of Mach-O, and Machine of PE: each names the processor. */
const ELF = { 0x3e: "x64", 0xb7: "arm64" } as Readonly<Record<number, string>>;
const MACH_O = { 0x0100_0007: "x64", 0x0100_000c: "arm64" } as Readonly<Record<number, string>>;
const PE = { 0x8664: "x64", 0xaa64: "arm64" } as Readonly<Record<number, string>>;
const ELF_MAGIC = 0x7f45_4c46;
const MACH_O_MAGIC = 0xfeed_facf;
const MZ = 0x4d5a;
/** Where the file of a PE says where its header begins, and what stands there. */
const PE_OFFSET = 0x3c;
const PE_MAGIC = 0x5045_0000;

/** `linux-x64`, `macos-arm64`, `windows-x64` or the like; `null` when it is none of these. */
export function systemOf(file: Uint8Array): string | null {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const named = (system: string, processor: string | undefined): string | null =>
    processor === undefined ? null : `${system}-${processor}`;
  if (file.length <= PE_OFFSET + 4) return null;
  if (view.getUint32(0) === ELF_MAGIC) return named("linux", ELF[view.getUint16(18, true)]);
  if (view.getUint32(0, true) === MACH_O_MAGIC) return named("macos", MACH_O[view.getUint32(4, true)]);
  const header = view.getUint32(PE_OFFSET, true);
  if (view.getUint16(0) !== MZ || file.length < header + 6 || view.getUint32(header) !== PE_MAGIC) return null;
  return named("windows", PE[view.getUint16(header + 4, true)]);
}
