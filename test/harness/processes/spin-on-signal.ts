// Loaded into a gateway by tests (--preload): SIGUSR1 makes the main thread compute without end, as a hanging worker does.
process.on("SIGUSR1", () => {
  for (;;);
});
