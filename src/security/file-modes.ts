/** Modes of files and folders under the data folder: other users of the machine read none of them, whatever the umask. */

export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;
