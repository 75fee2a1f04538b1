// The ids of items of calls that the gateway has run: those of the model's calls, with a mark where several were made at once.

/**
 * The end of the id of a call that the model made together with the one before it. Nothing else in the form says so, and a
 * client sends the id back.
 */
export const TOGETHER = ".together";
