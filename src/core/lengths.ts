/** Maximum lengths of names, ids and addresses sent by clients, which are looked up and compared many times. */

/** A media type with its parameters. */
export const MAX_MEDIA_TYPE_CHARACTERS = 255;
/** A model name with its routing suffix. */
export const MAX_MODEL_CHARACTERS = 1024;
/** Name of a tool, a field or a speaker. */
export const MAX_NAME_CHARACTERS = 1024;
/** Id of a call or a file. Some gateways put reasoning signatures into call ids. */
export const MAX_ID_CHARACTERS = 65_536;
/** URL; signed ones are long. */
export const MAX_ADDRESS_CHARACTERS = 16 * 1024;
/** Error message. */
export const MAX_MESSAGE_CHARACTERS = 4096;
/** Field name in an error. */
export const MAX_FIELD_CHARACTERS = 256;

/** Truncates a text with an ellipsis. */
export function shortened(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 3)}...` : text;
}
