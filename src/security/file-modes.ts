/** Private modes of files and folders in the data folder, independent of the umask. */

export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;
