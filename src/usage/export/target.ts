/** Place of exported objects, which are written once and never changed. */

export interface ExportTarget {
  /** Creates an object as a whole; false if there is one of that name. */
  create(name: string, bytes: Buffer): Promise<boolean>;
  /** Undefined without an object of that name. */
  read(name: string): Promise<string | undefined>;
  close(): Promise<void>;
}
