// What the gateway keeps is for the user that runs it alone.

export const OWNERS_FILE = 0o600;
export const OWNERS_FOLDER = 0o700;
