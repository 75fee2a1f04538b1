// The operator's key at the providers of benches and drills. It is as long as real ones, because answers are searched for
// it; a short word would not be.

export const OPERATORS_KEY = "sk-bench-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP";
