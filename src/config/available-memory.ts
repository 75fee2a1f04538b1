// How much memory the gateway may use: that of its container, or of the machine.
import { totalmem } from "node:os";

/** In bytes. */
export function availableMemory(): number {
  const ofContainer = process.constrainedMemory();
  return ofContainer > 0 ? Math.min(ofContainer, totalmem()) : totalmem();
}
